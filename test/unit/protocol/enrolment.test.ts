import fc from "fast-check";
import { expect, test } from "vitest";
import {
  ENROLMENT_CODE_ALPHABET,
  ENROLMENT_CODE_LENGTH,
  parseEnrolmentCode,
  formatEnrolmentCode,
} from "../../../src/protocol/assets/enrolment.ts";

const codes = fc.string({
  unit: fc.constantFrom(...ENROLMENT_CODE_ALPHABET.split("")),
  minLength: ENROLMENT_CODE_LENGTH,
  maxLength: ENROLMENT_CODE_LENGTH,
});

test("a code is accepted in either case, with spaces, and with letters that look like digits", () => {
  fc.assert(
    fc.property(codes, fc.boolean(), (code, lower) => {
      const typed = formatEnrolmentCode(code)
        .replaceAll("0", "o")
        .replaceAll("1", lower ? "l" : "I");
      expect(parseEnrolmentCode(` ${lower ? typed.toLowerCase() : typed} `)).toBe(code);
    }),
  );
});

test.each(["", "7K3MQ-XW9T", "7K3MQ-XW9TDD", "7K3MQ-XW9TU", "7K3MQ_XW9TD", "ed_0123456789abcdef"])(
  "no code: %s",
  (typed) => {
    expect(parseEnrolmentCode(typed)).toBeUndefined();
  },
);
