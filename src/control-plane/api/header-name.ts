/** Returns a header's name as documents write it: `Idempotency-Key` for `idempotency-key`. */
export function toHeaderName(name: string): string {
  return name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}
