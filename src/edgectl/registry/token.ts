import { z } from "zod";
import type { Challenge } from "../../lib/registry/challenge.ts";
import { maySendCredentials } from "../../lib/registry/credential-scope.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { denied, noResponse, wrongContent } from "./failures.ts";
import { basicHeader, type RegistryLogin } from "./login.ts";
import { readAtMost } from "./read-at-most.ts";

const tokenSchema = z.object({ token: z.string().min(1).optional(), access_token: z.string().min(1).optional() });
const MAX_TOKEN_BYTES = 65_536;

export interface TokenQuestion {
  /** The registry's host. */
  readonly host: string;
  /** A bearer challenge of that host. */
  readonly challenge: Challenge;
  /** Used if the challenge names no scope, such as `repository:team/app:pull`. */
  readonly defaultScope: string;
  readonly login: RegistryLogin | undefined;
  /** The registry itself responds over HTTP, so its token server may too. */
  readonly isPlain: boolean;
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}

/**
 * Fetches a token from the token server that a registry names. Credentials go to servers of the registry's own domain only.
 * Errors: exit code 3 if they are refused, 5 if the server does not respond.
 */
export async function fetchToken(question: TokenQuestion): Promise<string> {
  const { host, challenge, login, fetch, signal } = question;
  const server = tokenServer(question);
  const response = await fetch(server, { ...tokenRequest(question, server), signal, redirect: "error" }).catch(
    (error: unknown) => {
      signal.throwIfAborted();
      throw noResponse(server.host, error);
    },
  );
  if (!response.ok) {
    await response.body?.cancel().catch(() => undefined);
    if (response.status < 500) throw denied(host, login !== undefined);
    throw new Failure(`The token server ${server.host} responded with HTTP ${response.status}.`, {
      exitCode: EXIT.unreachable,
    });
  }
  const body = parseJson(await readAtMost(response, MAX_TOKEN_BYTES, server.host), "short");
  const { token, access_token: accessToken } = tokenSchema.safeParse(body).data ?? {};
  const found = token ?? accessToken;
  if (found === undefined)
    throw wrongContent(host, `no token for ${challenge.parameters["service"] ?? "this service"}`);
  return found;
}

function tokenServer({ host, challenge, login, isPlain }: TokenQuestion): URL {
  const server = URL.parse(challenge.parameters["realm"] ?? "");
  if (!server || !/^https?:$/.test(server.protocol)) throw wrongContent(host, "a token server without an address");
  if (server.protocol === "http:" && !isPlain) throw wrongContent(host, `a token server without TLS: ${server.host}`);
  if (login && !maySendCredentials(host, server, [])) {
    throw new Failure(
      `The registry ${host} names a token server that its credentials are not sent to: ${server.host}.`,
      {
        exitCode: EXIT.unauthorized,
        hint: "It belongs to another domain. Fetch a token there and give it with --registry-token-file.",
      },
    );
  }
  return server;
}

function tokenRequest({ challenge, defaultScope, login }: TokenQuestion, server: URL): RequestInit {
  const { service, scope = defaultScope } = challenge.parameters;
  if (login?.kind === "identity") {
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: login.identityToken, scope });
    body.set("client_id", "edgectl");
    if (service !== undefined) body.set("service", service);
    return { method: "POST", body };
  }
  if (service !== undefined) server.searchParams.set("service", service);
  for (const one of scope.split(" ")) server.searchParams.append("scope", one);
  if (login?.kind !== "basic") return {};
  server.searchParams.set("account", login.username);
  return { headers: { Authorization: basicHeader(login.username, login.password) } };
}
