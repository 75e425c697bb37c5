import fc from "fast-check";
import { expect, test } from "vitest";
import { CODE_ALPHABET, CODE_LENGTH, readCode, showCode } from "../../../src/protocol/enrolment.ts";

const codes = fc.string({
  unit: fc.constantFrom(...CODE_ALPHABET.split("")),
  minLength: CODE_LENGTH,
  maxLength: CODE_LENGTH,
});

test("a code is read as it was meant: in any case, with blanks, and with the letters that look like digits", () => {
  fc.assert(
    fc.property(codes, fc.boolean(), (code, lower) => {
      const typed = showCode(code)
        .replaceAll("0", "o")
        .replaceAll("1", lower ? "l" : "I");
      expect(readCode(` ${lower ? typed.toLowerCase() : typed} `)).toBe(code);
    }),
  );
});

test.each(["", "7K3MQ-XW9T", "7K3MQ-XW9TDD", "7K3MQ-XW9TU", "7K3MQ_XW9TD", "ed_0123456789abcdef"])(
  "no code: %s",
  (typed) => {
    expect(readCode(typed)).toBeUndefined();
  },
);
