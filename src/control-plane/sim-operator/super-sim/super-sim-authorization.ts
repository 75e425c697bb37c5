import type { Clock } from "../../../lib/clock.ts";
import { type Authorization, BasicAuthorization } from "../http/authorization.ts";
import { requestToken } from "../http/request-token.ts";
import { TokenAuthorization } from "../http/token-authorization.ts";
import { parseAnswer } from "../http/answers.ts";
import { tokenSchema } from "./responses.ts";

/** OAuth 2.0 client credentials, or the account SID and token of an older account. */
export type SuperSimCredentials =
  | { readonly clientId: string; readonly clientSecret: string; readonly tokenUrl: string }
  | { readonly accountSid: string; readonly authToken: string };

export function superSimAuthorization(credentials: SuperSimCredentials, clock: Clock): Authorization {
  if ("accountSid" in credentials) return new BasicAuthorization(credentials.accountSid, credentials.authToken);
  const { clientId, clientSecret, tokenUrl } = credentials;
  return new TokenAuthorization(clock, async (signal) => {
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    });
    const answer = parseAnswer(tokenSchema, await requestToken(clock, tokenUrl, body, signal));
    const { access_token: value, expires_in: seconds } = answer;
    return { value, lifetimeMs: seconds === undefined ? undefined : seconds * 1000 };
  });
}
