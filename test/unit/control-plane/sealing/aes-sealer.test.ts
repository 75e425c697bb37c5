import { expect, test } from "vitest";
import { AesSealer } from "../../../../src/control-plane/sealing/aes-sealer.ts";
import { revisionPurpose, UnsealError, variablePurpose } from "../../../../src/control-plane/sealing/sealer.ts";
import { someSealingKey } from "../../../support/control-plane/sealing-key.ts";

const key = someSealingKey();
const sealer = new AesSealer(key);
const purpose = variablePurpose("00000000-0000-4000-8000-000000000001", "PASSWORD");
/** Empty, short, and longer than a block of the cipher. */
const PLAINTEXTS = ["", "x", "correct horse battery staple"].map((text) => Buffer.from(text));

function failureOf(open: () => unknown): UnsealError {
  try {
    open();
  } catch (error) {
    if (error instanceof UnsealError) return error;
    throw error;
  }
  throw new Error("it was opened");
}

test.each(PLAINTEXTS)("what is sealed is opened again, and sealed differently each time: %s", (plaintext) => {
  const one = sealer.seal(plaintext, purpose);
  const other = sealer.seal(plaintext, purpose);
  expect(Buffer.from(sealer.open(one, purpose))).toEqual(plaintext);
  expect(Buffer.from(sealer.open(other, purpose))).toEqual(plaintext);
  expect(one.keyId).toBe(key.id);
  expect(one.sealed).not.toEqual(other.sealed);
});

test.each(PLAINTEXTS)("a value with any bit flipped is refused: %s", (plaintext) => {
  const { keyId, sealed } = sealer.seal(plaintext, purpose);
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const changed = Buffer.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(failureOf(() => sealer.open({ keyId, sealed: changed }, purpose)).purpose).toBe(purpose);
  }
});

test.each(PLAINTEXTS)("a value truncated anywhere is refused: %s", (plaintext) => {
  const { keyId, sealed } = sealer.seal(plaintext, purpose);
  for (let length = 0; length < sealed.length; length++) {
    failureOf(() => sealer.open({ keyId, sealed: sealed.subarray(0, length) }, purpose));
  }
});

test("a value is refused for another purpose, and with another key of the same id", () => {
  const sealed = sealer.seal(Buffer.from("secret-content"), purpose);
  const elsewhere = revisionPurpose("flt_1", 3);
  expect(failureOf(() => sealer.open(sealed, elsewhere)).message).toBe(
    "cannot open revision 3 of fleet flt_1: it was changed, or sealed for something else",
  );
  const other = new AesSealer({ id: key.id, bytes: someSealingKey().bytes });
  const { message } = failureOf(() => other.open(sealed, purpose));
  expect(message).toContain("variable PASSWORD of asset 00000000-0000-4000-8000-000000000001");
  expect(message).not.toContain("secret-content");
});

test("other keys open what was sealed with them; the message names a missing one", () => {
  const sealed = sealer.seal(Buffer.from("x"), purpose);
  const next = someSealingKey();
  expect(Buffer.from(new AesSealer(next, [key]).open(sealed, purpose)).toString()).toBe("x");
  expect(new AesSealer(next, [key]).seal(Buffer.from("x"), purpose).keyId).toBe(next.id);
  const error = failureOf(() => new AesSealer(next).open(sealed, purpose));
  expect(error.keyId).toBe(key.id);
  expect(error.message).toContain(`its key ${key.id} is not in the key file`);
});
