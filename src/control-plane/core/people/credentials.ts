/** The headers of a request that may have a key. */
interface CredentialHeaders {
  readonly authorization?: string | undefined;
  readonly "x-api-key"?: string | string[] | undefined;
}

/** Value of `WWW-Authenticate` where credentials are missing or refused. */
export const CHALLENGE = 'Bearer realm="edge-control"';

/** Tokens without the prefix of keys are not for this service: proxies in front of it pass on those by which they know people. */
const BEARER = /^Bearer +(ek_\S+) *$/i;

/** The API key of a request: `X-API-Key`, or without it a key as `Authorization: Bearer`. `undefined` if there is none. */
export function apiKeyOf(headers: CredentialHeaders): string | readonly string[] | undefined {
  return headers["x-api-key"] ?? BEARER.exec(headers.authorization ?? "")?.[1];
}
