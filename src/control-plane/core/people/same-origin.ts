/** What a browser says of the page that sends a request. */
export interface RequestOrigin {
  readonly method: string;
  /** The header `Sec-Fetch-Site`. */
  readonly fetchSite: string | undefined;
  /** The header `Origin`. */
  readonly origin: string | undefined;
  /** The header `Content-Type`. */
  readonly contentType: string | undefined;
  readonly hasBody: boolean;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
const JSON_TYPE = /^application\/json(?:\s*;|$)/i;

/**
 * Returns why a request with a cookie is not one of the console's own pages: `site` if another site may have sent it, `body`
 * if it has a body that a form of another site could send; `undefined` if it may be served. Safe methods change nothing, and
 * browsers do not show their responses to other sites.
 *
 * @param ownOrigins the origins of this service, such as `https://control.example.com`
 */
export function findCrossSiteProblem(
  request: RequestOrigin,
  ownOrigins: readonly string[],
): "site" | "body" | undefined {
  const { method, fetchSite, origin, contentType, hasBody } = request;
  if (SAFE_METHODS.has(method)) return undefined;
  const isOwn =
    fetchSite === undefined
      ? origin !== undefined && ownOrigins.some((own) => own.toLowerCase() === origin.toLowerCase())
      : fetchSite === "same-origin";
  if (!isOwn) return "site";
  return hasBody && !JSON_TYPE.test(contentType ?? "") ? "body" : undefined;
}
