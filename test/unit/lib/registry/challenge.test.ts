import fc from "fast-check";
import { expect, test } from "vitest";
import { parseChallenges } from "../../../../src/lib/registry/challenge.ts";

const TOKEN = /^[A-Za-z][A-Za-z0-9_-]{0,8}$/;
const token = fc.stringMatching(TOKEN);
const challenge = fc.record({
  scheme: token.map((name) => name.toLowerCase()),
  parameters: fc.dictionary(
    token.map((name) => name.toLowerCase()),
    fc.string({ unit: "grapheme-ascii" }),
    { minKeys: 1, maxKeys: 4, noNullPrototype: true },
  ),
});

test("any valid list of challenges is parsed", () => {
  fc.assert(
    fc.property(fc.array(challenge, { maxLength: 3 }), fc.constantFrom(",", ", ", " , "), (list, comma) => {
      const header = list.map(({ scheme, parameters }) => {
        return `${scheme} ${Object.entries(parameters)
          .map(([name, value]) => `${name}=${quoted(value)}`)
          .join(comma)}`;
      });
      expect(parseChallenges(header.join(", "))).toEqual(list);
    }),
  );
});

/** So long that a parser whose time grows with the square of the length does not end within the test. */
const LONG = 500_000;

test("any text is parsed without an error, in linear time", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 500 }), (text) => {
      expect(parseChallenges(text)).toBeInstanceOf(Array);
    }),
  );
  for (const text of [
    'Bearer realm="',
    "a=".repeat(LONG),
    ",".repeat(LONG),
    `Bearer ${"x ".repeat(LONG)}`,
    "x".repeat(LONG),
  ]) {
    expect(parseChallenges(text)).toBeInstanceOf(Array);
  }
});

test("challenges of real registries", () => {
  expect(
    parseChallenges(
      'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/nginx:pull"',
    ),
  ).toEqual([
    {
      scheme: "bearer",
      parameters: {
        realm: "https://auth.docker.io/token",
        service: "registry.docker.io",
        scope: "repository:library/nginx:pull",
      },
    },
  ]);
  expect(parseChallenges('Basic realm="Registry Realm"')).toEqual([
    { scheme: "basic", parameters: { realm: "Registry Realm" } },
  ]);
  expect(parseChallenges("Negotiate, BASIC realm=x").map(({ scheme }) => scheme)).toEqual(["negotiate", "basic"]);
  expect(parseChallenges(undefined)).toEqual([]);
});

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
