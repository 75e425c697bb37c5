/** Crockford's base 32: without I, L, O and U, which are mistaken for other characters. */
export const TYPED_CODE_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const CODE = new RegExp(`^[${TYPED_CODE_ALPHABET}]+$`);

const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ["O", "0"],
  ["I", "1"],
  ["L", "1"],
]);

/** Normalizes a code that a person has typed; `undefined` when it does not have this length, or other characters. */
export function parseTypedCode(typed: string, length: number): string | undefined {
  const code = typed
    .toUpperCase()
    .replaceAll(/[\s-]/g, "")
    .replaceAll(/[OIL]/g, (sign) => LOOK_ALIKES.get(sign) ?? sign);
  return code.length === length && CODE.test(code) ? code : undefined;
}

/** Formats a code in two groups, such as `7K3M-XW9T`. */
export function formatTypedCode(code: string): string {
  const half = code.length / 2;
  return `${code.slice(0, half)}-${code.slice(half)}`;
}
