import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseEnvFile } from "../../../../src/edgectl/compose/env-file.ts";
import { Problems } from "../../../../src/edgectl/documents/problems.ts";
import { problemsOf } from "../../../support/edgectl/compose.ts";

function parse(text: string, env: Readonly<Record<string, string>> = {}) {
  const problems = new Problems("e");
  const variables = parseEnvFile(text, (name) => env[name], problems);
  return {
    values: Object.fromEntries(variables.map(({ key, value }) => [key, value])),
    problems: problemsOf(problems),
  };
}

describe(".env", () => {
  test.each<[string, Readonly<Record<string, string | undefined>>]>([
    ["A=1\nB = 2 \r\nexport C=3\nD: 4\n", { A: "1", B: "2", C: "3", D: "4" }],
    ["# comment\n\n  # indented\nA=1", { A: "1" }],
    ["\uFEFFA=1", { A: "1" }],
    ["A=", { A: "" }],
    ["A=\nB=2", { A: "", B: "2" }],
    ["A=abc#def\nB=abc #def\nC=#nothing", { A: "abc#def", B: "abc", C: "" }],
    ["A='a # b'\nB=\"a # b\" # comment", { A: "a # b", B: "a # b" }],
    ["A='$B ${C} \\n'", { A: "$B ${C} \\n" }],
    ["A='it\\'s'", { A: "it's" }],
    ['A="a\\nb\\t\\"c\\" \\$B"', { A: 'a\nb\t"c" $B' }],
    ["A='one\ntwo'\nB=3", { A: "one\ntwo", B: "3" }],
    ['A=1\nB=$A\nC="${A}-${NO:-x}"', { A: "1", B: "1", C: "1-x" }],
    ["A=1\nA=2\nB=$A", { A: "2", B: "2" }],
    ["A", { A: undefined }],
    ["A.b-c=1", { "A.b-c": "1" }],
    ["A=x=y", { A: "x=y" }],
    ["A=^.{8,}$", { A: "^.{8,}$" }],
    ["", {}],
  ])("%j", (text, expected) => {
    expect(parse(text)).toEqual({ values: expected, problems: [] });
  });

  test("with many spaces is read in linear time", () => {
    const spaces = " ".repeat(250_000);
    expect(parse(`A=a${spaces}b${spaces}#c`)).toEqual({ values: { A: `a${spaces}b` }, problems: [] });
  });

  test("has at most 1 MiB of values, with those of their variables", () => {
    const lines = ["A=".padEnd(200_000, "x"), ...Array.from({ length: 6 }, (_, index) => `B${index}=$A`)];
    const { problems } = parse(lines.join("\n"));
    expect(problems).toEqual([
      "e:6:1: This line makes the values of this file longer than 1 MiB with those of its variables.",
    ]);
  });

  test("the shell takes precedence in what a line refers to", () => {
    expect(parse("A=1\nB=$A", { A: "shell" }).values).toEqual({ A: "1", B: "shell" });
  });

  test.each([
    ["=planted", "e:1:1: This line is not NAME=value."],
    ["A=1\n?planted", "e:2:1: This line is not NAME=value."],
    ["A='planted", "e:1:1: This line has a ' without the one at its end."],
    ["A='1'planted", "e:1:1: This line has something after the name or the closing quote."],
    ["NAME planted", "e:1:1: This line has something after the name or the closing quote."],
    ["A=1\n\nB=$NO", "e:3:1: This line uses the variable NO, which is not set."],
  ])("%j is refused by line, without a value", (text, message) => {
    const { problems } = parse(text);
    expect(problems).toEqual([expect.stringContaining(message)]);
    expect(problems.join()).not.toContain("planted");
  });

  test("a billion laughs end at the bound", () => {
    const lines = ["V0=0123456789"];
    for (let level = 1; level < 20; level++) lines.push(`V${level}=${`$V${level - 1}`.repeat(10)}`);
    expect(parse(lines.join("\n")).problems[0]).toContain("longer than 256 KiB");
  });

  test("a value in single quotes is read as it was", () => {
    const value = fc.string().filter((text) => !text.includes("'") && !text.endsWith("\\") && !text.includes("\uFEFF"));
    fc.assert(
      fc.property(value, (text) => {
        expect(parse(`A='${text}'\nB=1`)).toEqual({ values: { A: text, B: "1" }, problems: [] });
      }),
    );
  });

  test("any text is read to its end", () => {
    const character = fc.constantFrom("A", "=", "'", '"', "\\", "\n", "#", " ", "$", "\r");
    fc.assert(
      fc.property(fc.string({ unit: character }), (text) => {
        const { values, problems } = parse(`${text}\nLAST=1`);
        expect(values["LAST"] === "1" || problems.length > 0 || text.includes("'") || text.includes('"')).toBe(true);
      }),
    );
  });
});
