import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import type { RegistryErrors } from "./problem.ts";

/** A request to a registry, or to a server that it named. */
export interface RegistryRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers and unread body of a response. The caller must read or destroy the body. */
export interface RegistryResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
  /** URL that responded. */
  readonly url: URL;
}

/** A response after redirects. */
export interface FollowedResponse extends RegistryResponse {
  /** The response is from another origin (scheme, host, port) than the one requested. */
  readonly isCrossOrigin: boolean;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
const SHORT_BODY_BYTES = 4096;

/**
 * Sends a request and follows redirects, without credentials for another origin: storage hosts use signed URLs. What follows a
 * redirect is a HEAD or a GET without a body.
 *
 * @param send sends one request, without following redirects
 * @param mayLoseTls allows redirects from HTTPS to plain HTTP
 */
export async function followRedirects<
  Q extends RegistryRequest & { readonly body?: unknown },
  R extends RegistryResponse,
>(
  first: Q,
  send: (request: Q) => Promise<R>,
  { errors, mayLoseTls }: { readonly errors: Pick<RegistryErrors, "problem">; readonly mayLoseTls: boolean },
): Promise<R & FollowedResponse> {
  let request = first;
  for (let redirects = 0; ; redirects++) {
    const response = await send(request);
    const { location } = response.headers;
    if (!REDIRECTS.has(response.status) || location === undefined)
      return { ...response, isCrossOrigin: response.url.origin !== first.url.origin };
    response.body.destroy();
    if (redirects === MAX_REDIRECTS)
      throw errors.problem({ kind: "too_many_redirects", host: first.url.host, max: MAX_REDIRECTS });
    const { host, protocol, origin } = request.url;
    const url = URL.parse(location, request.url);
    if (!url || !/^https?:$/.test(url.protocol)) throw errors.problem({ kind: "redirect_not_http", host });
    if (protocol === "https:" && url.protocol === "http:" && !mayLoseTls)
      throw errors.problem({ kind: "redirect_without_tls", host, target: url.host });
    // Would be sent as an Authorization header.
    url.username = "";
    url.password = "";
    const headers = Object.entries(request.headers).filter(([name]) => {
      return url.origin === origin || name.toLowerCase() !== "authorization";
    });
    const { body: _body, ...rest } = request;
    const method = request.method === "HEAD" ? "HEAD" : "GET";
    request = { ...rest, method, url, headers: Object.fromEntries(headers) } as unknown as Q;
  }
}

/** Discards a response. Reads a short body to its end, so that the connection can be reused. */
export function discard({ headers, body }: RegistryResponse): void {
  if (Number(headers["content-length"] ?? Number.NaN) <= SHORT_BODY_BYTES) body.resume();
  else body.destroy();
}
