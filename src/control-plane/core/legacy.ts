import { EdgeError } from "../../protocol/errors/errors.ts";

/** When the legacy fields and endpoints were deprecated: half a year before the removal date of the specification. */
const DEPRECATED_SINCE_MS = Date.UTC(2026, 2, 1);

/** Whether the legacy fields and endpoints are removed at this time, which they are from `removalMs` on. */
export function isLegacyRemoved(nowMs: number, removalMs: number): boolean {
  return nowMs >= removalMs;
}

/**
 * Returns the headers of every response that has a deprecated field or comes from a deprecated endpoint: Deprecation
 * (RFC 9745, a structured date), Sunset (RFC 8594, an HTTP date) and the link to the replacement.
 *
 * @param successor path of the replacement, percent-encoded
 */
export function legacyHeaders(removalMs: number, successor: string): Record<string, string> {
  const since = Math.min(DEPRECATED_SINCE_MS, removalMs);
  return {
    deprecation: `@${Math.floor(since / 1000)}`,
    sunset: new Date(removalMs).toUTCString(),
    link: successorLink(successor),
  };
}

/** Returns the value of the Link header for the replacement. */
export function successorLink(successor: string): string {
  return `<${successor}>; rel="successor-version"`;
}

/** Returns the error of a legacy endpoint after its removal. */
export function endpointRemoved(removalMs: number, method: string, successor: string): EdgeError {
  const date = new Date(removalMs).toISOString().slice(0, 10);
  return new EdgeError("EndpointRemoved", `This endpoint was removed on ${date}. Use ${method} ${successor} instead.`, {
    replacement: { method, path: successor },
  });
}
