import type { FastifyReply, FastifyRequest } from "fastify";
import { findCrossSiteProblem } from "../core/people/same-origin.ts";
import { SESSION_COOKIE } from "../../protocol/people/cookies.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";

/** Browsers send a cookie with this prefix over HTTPS only, and to the host that set it only. */
const SECURE_PREFIX = "__Host-";

const LOOPBACK_NAME = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i;

/** The address under which browsers reach the service, and what follows from it for cookies and origins. */
export class Site {
  readonly #public: URL | undefined;

  /** @param publicUrl the address of the service, if it is configured */
  constructor(publicUrl: string | undefined) {
    this.#public = publicUrl === undefined ? undefined : new URL(publicUrl);
  }

  /** Returns the address of the console: the configured one, or the one that the request was sent to. */
  urlOf(request: FastifyRequest): string {
    return this.#public?.origin ?? requestedOrigin(request);
  }

  /** Whether browsers send cookies that are set over this connection back: HTTPS, or HTTP on loopback. */
  keepsCookies(request: FastifyRequest): boolean {
    return this.#isPlainLoopback(request) || this.#isSecure(request);
  }

  /** The secret of the session cookie; `undefined` if there is none. */
  sessionSecretOf(request: FastifyRequest): string | undefined {
    return request.cookies[this.cookieName(request, SESSION_COOKIE)];
  }

  setSessionCookie(request: FastifyRequest, reply: FastifyReply, secret: string, maxAgeS: number): void {
    this.setCookie(request, reply, SESSION_COOKIE, secret, maxAgeS);
  }

  clearSessionCookie(request: FastifyRequest, reply: FastifyReply): void {
    this.setCookie(request, reply, SESSION_COOKIE, "", 0);
  }

  /** The name of a cookie over the connection of this request: with a prefix that keeps it to HTTPS, where there is HTTPS. */
  cookieName(request: FastifyRequest, name: string): string {
    return this.#isPlainLoopback(request) ? name : SECURE_PREFIX + name;
  }

  /** Sets a cookie that scripts cannot read and that requests of other sites do not carry. */
  setCookie(request: FastifyRequest, reply: FastifyReply, name: string, value: string, maxAgeS: number): void {
    const secure = !this.#isPlainLoopback(request);
    const attributes = { httpOnly: true, sameSite: "lax", path: "/", secure, maxAge: maxAgeS } as const;
    void reply.setCookie(this.cookieName(request, name), value, attributes);
  }

  /**
   * Refuses a request that a page of another site may have sent with the browser's cookies. Error: `CrossSiteRequest`, or
   * `UnsupportedMediaType` for a body that is not JSON.
   */
  requireOwnPage(request: FastifyRequest): void {
    const { headers, method } = request;
    const fetchSite = headers["sec-fetch-site"];
    const problem = findCrossSiteProblem(
      {
        method,
        fetchSite: typeof fetchSite === "string" ? fetchSite : undefined,
        origin: headers.origin,
        contentType: headers["content-type"],
        hasBody: hasBody(request),
      },
      this.#originsOf(request),
    );
    if (problem === "site") throw new EdgeError("CrossSiteRequest");
    if (problem === "body") throw new EdgeError("UnsupportedMediaType");
  }

  /** As `requireOwnPage`, for endpoints without a principal, which programs that are no browsers may call too. */
  requireNoOtherPage(request: FastifyRequest): void {
    const { headers } = request;
    if (headers["sec-fetch-site"] !== undefined || headers.origin !== undefined) this.requireOwnPage(request);
  }

  #originsOf(request: FastifyRequest): readonly string[] {
    const requested = requestedOrigin(request);
    return this.#public ? [this.#public.origin, requested] : [requested];
  }

  #isSecure(request: FastifyRequest): boolean {
    return request.protocol === "https" || this.#public?.protocol === "https:";
  }

  #isPlainLoopback(request: FastifyRequest): boolean {
    return !this.#isSecure(request) && LOOPBACK_NAME.test(request.hostname);
  }
}

function requestedOrigin({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`;
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
