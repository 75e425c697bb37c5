import { usageFailure } from "../failure.ts";

/**
 * Builds a path from segments. Each is encoded, so that an identifier with a slash stays one segment. Errors: exit
 * code 2 for a segment that a URL would drop, such as `..`.
 */
export function apiPath(...segments: readonly string[]): string {
  return segments.map((segment) => `/${encodeSegment(segment)}`).join("");
}

function encodeSegment(segment: string): string {
  if (segment === "" || segment === "." || segment === "..") {
    throw usageFailure(`"${segment}" is not an identifier.`, "Give a serial number, SIM SID, ICCID or UUID.");
  }
  if (!segment.isWellFormed()) throw usageFailure("An identifier holds characters that are not valid Unicode.");
  return encodeURIComponent(segment);
}
