/** Returns a header's name as documents write it: `Idempotency-Key` for `idempotency-key`. */
export function toHeaderName(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

export interface MediaRange {
  /** Lower case, such as `text/plain` or `text/*`. */
  readonly type: string;
  readonly quality: number;
}

/** Returns what a client accepts by the header `Accept`, the preferred first; anything without one. */
export function parseMediaRanges(accept: string | undefined): readonly MediaRange[] {
  return (accept ?? "*/*")
    .split(",")
    .map((part) => parseMediaRange(part))
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality);
}

function parseMediaRange(part: string): MediaRange {
  const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  return { type, quality: quality === undefined ? 1 : Number(quality) || 0 };
}
