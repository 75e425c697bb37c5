/** A part of a resource, with its first and its last byte. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

const SINGLE = /^bytes=(\d*)-(\d*)$/i;
const MAX_LENGTH = 64;

/**
 * Reads the header `Range` (RFC 9110, section 14.2). Several ranges, other units and what has no valid syntax are ignored, as the
 * standard allows: the whole resource is sent then.
 *
 * @returns `undefined` for the whole resource
 */
export function byteRange(header: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, from = "", to = ""] = header === undefined || header.length > MAX_LENGTH ? [] : (SINGLE.exec(header) ?? []);
  if (from === "" && to === "") return undefined;
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "unsatisfiable" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== "" && Number(to) < first) return undefined;
  return first >= size ? "unsatisfiable" : { first, last };
}
