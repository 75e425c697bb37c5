/** Bytes from `start` to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses a `Range` header (RFC 9110, section 14.2) for a body of `size` bytes. Returns `undefined` when it is absent,
 * has several ranges, or is not valid; then a server sends the whole body.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=(\d{1,15})-(\d{0,15})$/.exec(header ?? "") ?? [];
  if (first === "") return undefined;
  const start = Number(first);
  const end = last === "" ? size : Math.min(size, Number(last) + 1);
  return start < end ? { start, end } : "unsatisfiable";
}
