/** Returns a header's name as documents write it: `Idempotency-Key` for `idempotency-key`. */
export function toHeaderName(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

interface MediaRange {
  /** Lower case, such as `text/plain` or `text/*`. */
  readonly type: string;
  readonly quality: number;
}

interface Match {
  readonly quality: number;
  /** 2 for the type itself, 1 for its group, 0 for any. */
  readonly specificity: number;
}

/**
 * Returns the offered media type that a client prefers by the header `Accept` (RFC 9110): of several with the same quality the one that
 * is named most exactly, then the one that is offered first. `undefined` if it accepts none.
 *
 * @param accept several headers are one, with commas
 */
export function preferredType<T extends string>(accept: string | undefined, offered: readonly T[]): T | undefined {
  const ranges = (accept ?? "*/*").split(",").map(parseMediaRange);
  return offered
    .map((type) => ({ type, ...matchOf(type, ranges) }))
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality || other.specificity - one.specificity)[0]?.type;
}

function parseMediaRange(part: string): MediaRange {
  const [type = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
  return { type, quality: quality === undefined ? 1 : Number(quality) || 0 };
}

/** Returns what the most exact range says of the type. */
function matchOf(type: string, ranges: readonly MediaRange[]): Match {
  const forms = ["*/*", `${type.split("/")[0]}/*`, type];
  return ranges
    .map((range) => ({ quality: range.quality, specificity: forms.indexOf(range.type) }))
    .reduce((best, match) => (match.specificity > best.specificity ? match : best), { quality: 0, specificity: -1 });
}
