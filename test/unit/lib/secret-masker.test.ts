import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SecretMasker, maskSecrets } from "../../../src/lib/redact.ts";

const mask = (text: string, ...secrets: string[]): string => new SecretMasker(secrets).mask(text);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const KEY = [
  "-----BEGIN PRIVATE KEY-----",
  "MIIEvQIBADANBgkqhkiG9w0BAQEF",
  "AASCBKcwggSjAgEAAoIBAQC7+/==",
  "-----END-----",
];
const PEM = `${KEY.join("\n")}\n`;

describe("a secret of several lines", () => {
  test("is masked line by line", () => {
    for (const line of KEY) expect(mask(`key: ${line} read`, PEM)).toBe("key: *** read");
    expect(mask(`${KEY[1]}\r`, PEM.replaceAll("\n", "\r\n"))).toBe("***\r");
    expect(mask(`    ${KEY[1]}`, `a:\n    ${KEY[1]}\n`)).toBe("    ***");
  });

  test("is masked when an engine joins its lines", () => {
    expect(mask(`invalid value: ${PEM.replaceAll("\n", " ")}`, PEM)).toBe("invalid value: *** ");
    expect(mask("no: x: 1 y: 2 z", "x: 1\ny: 2\nz")).toBe("no: ***");
  });

  test("does not have its short lines masked, which are too common", () => {
    expect(mask("{ debug: 1 }", '{\ndebug: 1\n}\n"password": "abcdefgh"')).toBe("{ *** }");
    expect(mask("{ a: 1 }", '{\na: 1\n}\n"password": "abcdefgh"')).toBe("{ a: 1 }");
  });
});

const SECRET = `p@ss wörd/+?&'"\\<tab>\t~!`;

const go = (text: string): string =>
  JSON.stringify(text).replaceAll(/[<>&]/g, (one) => `\\u00${one.charCodeAt(0).toString(16)}`);
const ascii = (text: string): string =>
  JSON.stringify(text).replaceAll(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

describe("a secret in another form", () => {
  test.each([
    ["JSON", JSON.stringify(SECRET).slice(1, -1)],
    ["JSON of Go", go(SECRET).slice(1, -1)],
    ["JSON of Python", ascii(SECRET).slice(1, -1)],
    ["a component of an address", encodeURIComponent(SECRET)],
    ["one in small letters", encodeURIComponent(SECRET).replaceAll(/%../g, (code) => code.toLowerCase())],
    ["a form", new URLSearchParams({ x: SECRET }).toString().slice(2)],
    ["a form of Java", "p%40ss+w%C3%B6rd%2F%2B%3F%26%27%22%5C%3Ctab%3E%09~%21"],
    ["an address", encodeURI(SECRET)],
    ["base64", base64(SECRET)],
    ["base64 for addresses", Buffer.from(SECRET).toString("base64url")],
    ["a shell's words", SECRET.replaceAll("'", `'\\''`)],
    ["the secret", SECRET],
  ])("as %s is masked", (_name, form) => {
    expect(mask(`before ${form} after`, SECRET)).toMatch(/^before \*\*\*={0,2} after$/);
  });

  test("is masked in the base64 of a longer text, except for a character at either end", () => {
    for (const user of ["", "a", "ab", "abc", "user:", "user1:", "user12:"]) {
      const text = base64(`${user}hunter2 correct horse${user}`);
      const masked = mask(`Authorization: Basic ${text}`, "hunter2 correct horse");
      const left = Buffer.from(masked.replace("Authorization: Basic ", "").split("***")[0] ?? "", "base64").toString();
      expect(masked).toContain("***");
      expect(user.startsWith(left.slice(0, user.length))).toBe(true);
      expect(left.length).toBeLessThanOrEqual(user.length + 1);
      expect(left).not.toContain("hu");
    }
  });

  test("is not found in shorter text: other text is unchanged", () => {
    expect(mask("on 1 yes true", "on", "1", "yes")).toBe("on 1 yes true");
    expect(mask("production", "prod")).toBe("***uction");
    expect(mask("https://example.com/a", "https://example.com/b")).toBe("https://example.com/a");
    expect(mask("nothing of it", ".*", "[^x]+", "(?:nothing)")).toBe("nothing of it");
  });
});

test("overlapping secrets are masked completely", () => {
  expect(mask("x abcdef y", "abcd", "cdef")).toBe("x *** y");
  expect(mask("x abcdabcd y", "abcd")).toBe("x *** y");
  expect(mask("abcd", "abcd")).toBe("***");
  expect(mask("x abcdefgh y", "abcdefgh", "cdef")).toBe("x *** y");
});

test("a secret truncated by an ellipsis is masked in messages", () => {
  expect(maskSecrets("invalid: correct hor…", ["correct horse battery"])).toBe("invalid: ***…");
  expect(maskSecrets("invalid: correct hor...", ["correct horse battery"])).toBe("invalid: ***...");
  expect(maskSecrets("invalid: correct hor", ["correct horse battery"])).toBe("invalid: correct hor");
});

// The surrounding text has no letters of a secret, so that remaining parts can be recognized.
const around = fc.string({ unit: fc.constantFrom("ж", " ", "щ", "→", "\t", "\u{1f600}"), maxLength: 40 });
const character = fc.oneof(
  fc.constantFrom(...Array.from("abcXYZ019+/=%\"'\\.*[](){}^$|?-_~&<>!éß\u{10348}")),
  fc.constantFrom("\n", "\r\n"),
);
const secret = fc.string({ unit: character, minLength: 8, maxLength: 80 }).filter((text) => !text.includes("***"));

/** Whether the text contains `length` consecutive characters of the form. */
function showsPartOf(text: string, form: string, length: number): boolean {
  for (let at = 0; at + length <= form.length; at++) if (text.includes(form.slice(at, at + length))) return true;
  return false;
}

const forms = (value: string): string[] => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value),
  new URLSearchParams([["", value]]).toString().slice(1),
  base64(value).replace(/=+$/, ""),
  Buffer.from(value).toString("base64url"),
];

describe("for any secret, surrounding text and truncation", () => {
  test("no form of it is left", () => {
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 4 }), around, around, (secrets, before, after) => {
        const masker = new SecretMasker(secrets);
        for (const value of secrets) {
          for (const form of forms(value)) {
            const masked = masker.mask(`${before}${form}${after}${form}`);
            expect(masked.includes(form)).toBe(false);
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test("no line of it is left when lines are masked one by one", () => {
    fc.assert(
      fc.property(secret, around, (value, before) => {
        const masker = new SecretMasker([value]);
        for (const line of `${before}${value}${before}`.split(/\r?\n/)) {
          const masked = masker.mask(line);
          for (const part of value.split(/[\r\n]+/)) {
            if (part.trim().length >= 8) expect(masked.includes(part.trim())).toBe(false);
          }
        }
      }),
      { numRuns: 150 },
    );
  });

  test("no part of eight characters is left at a cut", () => {
    const single = secret.filter((value) => !/[\r\n]/.test(value));
    fc.assert(
      fc.property(single, around, around, fc.nat(), fc.nat(), (value, before, after, form, cut) => {
        const text = forms(value)[form % 6] ?? "";
        const whole = `${before}${text}${after}`;
        const at = cut % (whole.length + 1);
        const masker = new SecretMasker([value]);
        const head = masker.mask(whole.slice(0, at), { atEnd: true });
        const tail = masker.mask(whole.slice(at), { atStart: true });
        expect(showsPartOf(head, text, 8)).toBe(false);
        expect(showsPartOf(tail, text, 8)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

test("thousands of secrets, and long ones, take little memory and time", () => {
  const many = Array.from({ length: 20_000 }, (_, index) => `value-${index}-${"x".repeat(index % 7)}`);
  const long = "0123456789abcdef".repeat(16_000);
  const masker = new SecretMasker([...many, long]);
  expect(masker.mask("value-19999-")).toBe("***");
  expect(masker.mask(`a ${long} b`)).toBe("a *** b");
  expect(masker.mask(`a ${long.slice(0, 8192)}`, { atEnd: true })).toBe("a ***");
});
