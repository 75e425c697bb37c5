import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadDocument } from "../../../../src/edgectl/documents/load.ts";
import { placeOf, toJson } from "../../../../src/edgectl/documents/node.ts";
import { Problems } from "../../../../src/edgectl/documents/problems.ts";
import { problemsOf } from "../../../support/edgectl/compose.ts";

function load(text: string) {
  const problems = new Problems("f");
  const document = loadDocument(text, problems);
  return { json: document && toJson(document), document, problems: problemsOf(problems) };
}

/** Nine levels of lists, each with nine times the one below. */
function laughs(levels: number): string {
  const lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"];
  for (let level = 1; level < levels; level++) {
    lines.push(
      `a${level}: &a${level} [${Array<string>(9)
        .fill(`*a${level - 1}`)
        .join(", ")}]`,
    );
  }
  return lines.join("\n");
}

describe("a document", () => {
  test("with anchors, aliases and merge keys", () => {
    const text = "x: &x\n  a: 1\n  b: [1, 2]\ny: *x\nz:\n  <<: *x\n  a: 3\nm:\n  <<: [*x, {a: 4, c: 5}]\n";
    expect(load(text)).toMatchObject({
      json: {
        x: { a: 1, b: [1, 2] },
        y: { a: 1, b: [1, 2] },
        z: { a: 3, b: [1, 2] },
        m: { a: 1, b: [1, 2], c: 5 },
      },
      problems: [],
    });
  });

  test("an anchor that is set again stands for the later value from there on", () => {
    const text = "q: &b {z: &a 1}\nr: &a 2\ns: *b\nt: *a";
    expect(load(text).json).toEqual({ q: { z: 1 }, r: 2, s: { z: 1 }, t: 2 });
  });

  test("as YAML 1.2: yes, on and 22:22 are texts", () => {
    expect(load("[yes, on, no, 22:22, true, 0o17, 1.10, ~, 'null']").json).toEqual([
      "yes",
      "on",
      "no",
      "22:22",
      true,
      15,
      1.1,
      null,
      "null",
    ]);
  });

  test("any JSON is read as JSON.parse reads it", () => {
    const key = fc.string().filter((text) => text !== "<<" && text !== "__proto__");
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("tree")),
        fc.dictionary(key, tie("tree")),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 2, "\t"), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(load(text)).toMatchObject({ json: JSON.parse(text) as unknown, problems: [] });
      }),
    );
  });

  test.each([
    ["a loop", "a: &a\n  b: *a\n", "f:2:6: The alias *a is inside what it stands for."],
    ["a merge of itself", "a: &a\n  <<: *a\n", "The alias *a is inside"],
    ["an alias without an anchor", "a: *planted_later\n", "f:1:4: "],
    ["a billion laughs", laughs(9), "more than 50,000 values"],
    [
      "a billion laughs by merging",
      `${laughs(1)}\nb: &b {${"k: *a0, ".repeat(1)}}\nc: [${"{<<: *b, x: *a0}, ".repeat(5000)}]`,
      "more than 50,000 values",
    ],
    [
      "a long text that is used often",
      `a: &a ${"x".repeat(100_000)}\nb: [${"*a, ".repeat(100)}]`,
      "f:2:165: The document has more than 4 MiB of text",
    ],
    ["more lists than any document has", `[${"[],".repeat(200_000)}]`, "too many lines and values"],
    [
      "more keys than any document has",
      Array.from({ length: 80_000 }, (_, key) => `k${key}: 1`).join("\n"),
      "too many",
    ],
    ["deep nesting", "[".repeat(100) + "]".repeat(100), "more than 64 deep"],
    ["very deep nesting", "[".repeat(100_000), "f:1:"],
    ["a merge of a text", "a:\n  <<: text\n", "f:2:7: `<<` takes a map"],
    ["a key twice", "a: 1\nb: 2\na: 3\n", "f:3:1: "],
    ["a tab", "a:\n\tb: 1\n", "f:2:"],
    ["two documents", "a: 1\n---\nb: 2\n", "f:2:"],
    ["a list as a key", "? [a]\n: 1\n", "A key must be a text."],
    ["a tag", "a: !planted x\n", "f:1:4: "],
    ["an open quote", 'a: "planted\n', "f:"],
    ["too much", "#".repeat(1024 * 1024 + 1), "larger than 1 MiB"],
  ])("with %s is refused by line", (_what, text, message) => {
    const { json, problems } = load(text);
    expect(json).toBeUndefined();
    expect(problems.join("\n")).toContain(message);
    expect(problems[0]).toMatch(/^f:\d+:\d+: /);
  });

  test("the broken text is not repeated", () => {
    for (const text of ['password: "planted', "a: [planted\nb: 1", "planted\n  x: y", "a: 'planted' planted"]) {
      const { problems } = load(text);
      expect(problems).not.toEqual([]);
      expect(problems.join()).not.toContain("planted");
    }
  });

  test("places are those of the keys", () => {
    const { document } = load("apps:\n  web:\n    ports:\n      - a: 1\n      - b: 2\n");
    if (!document) throw new Error("not read");
    expect(placeOf(document, ["apps", "web", "ports", 1, "b"])).toEqual({ line: 5, column: 9 });
    expect(placeOf(document, ["apps", "web", "ports", 7])).toEqual({ line: 4, column: 7 });
    expect(placeOf(document, ["apps", "web", "nothing"])).toEqual({ line: 3, column: 5 });
  });
});
