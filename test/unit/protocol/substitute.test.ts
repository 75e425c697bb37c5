import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseTemplate, substitute, variablesIn, type VariableValue } from "../../../src/protocol/values/substitute.ts";

const variables = (values: Readonly<Record<string, string>>, secrets: readonly string[] = []) =>
  new Map<string, VariableValue>(
    Object.entries(values).map(([name, value]) => [name, { value, isSecret: secrets.includes(name) }]),
  );

/** Writes a piece as a template. */
function written(piece: { readonly text: string } | { readonly name: string }): string {
  return "text" in piece ? piece.text.replaceAll("${", "$$${") : `\${${piece.name}}`;
}

describe("variables in a value", () => {
  it.each([
    ["", ""],
    ["plain", "plain"],
    ["${SITE}", "pump-7"],
    ["mqtt://${SITE}.example.com:${PORT}/", "mqtt://pump-7.example.com:1883/"],
    ["${SITE}${SITE}", "pump-7pump-7"],
    ["$${SITE}", "${SITE}"],
    ["$$${SITE}", "$${SITE}"],
    ["$SITE $1 $ $$ $", "$SITE $1 $ $$ $"],
    ["}{$}", "}{$}"],
    ["${EMPTY}", ""],
    // What is put in is not searched again.
    ["${NESTED}", "${SITE} $${SITE}"],
    ["$${${SITE}}", "${pump-7}"],
  ])("%j becomes %j", (template, value) => {
    const given = variables({ SITE: "pump-7", PORT: "1883", EMPTY: "", NESTED: "${SITE} $${SITE}" });
    expect(substitute(template, given)).toEqual({ ok: true, value, secrets: [] });
  });

  it("are all named where they are missing, each once", () => {
    expect(substitute("${B}${A}${B}${C}", variables({ C: "" }))).toEqual({ ok: false, missing: ["B", "A"] });
    expect(substitute("${toString}", variables({}))).toEqual({ ok: false, missing: ["toString"] });
  });

  it("make the value a secret where one of them is", () => {
    const given = variables({ USER: "app", PASS: "hunter2" }, ["PASS"]);
    expect(substitute("${USER}", given)).toMatchObject({ secrets: [] });
    expect(substitute("${USER}:${PASS}@${PASS}", given)).toMatchObject({
      value: "app:hunter2@hunter2",
      secrets: ["hunter2"],
    });
    expect(substitute("$${PASS}", given)).toMatchObject({ secrets: [] });
  });

  it.each([
    ["${", 0],
    ["a ${SITE", 2],
    ["${}", 0],
    ["${A}${1A}", 4],
    ["${A-b}", 0],
    ["${A:-x}", 0],
    ["${ A }", 0],
    ["${${A}}", 0],
    [`\${${"A".repeat(65)}}`, 0],
    ["$${A} ${", 6],
  ])("%j is refused at %i", (template, position) => {
    expect(parseTemplate(template)).toMatchObject({ ok: false, position, reason: expect.stringContaining("'$${'") });
    expect(variablesIn(template)).toEqual([]);
    expect(() => substitute(template, new Map())).toThrow();
  });

  const name = fc.constantFrom("A", "_b", "C3", "D".repeat(64));
  // Texts without a `$` at the end: before a variable it would be the escape.
  const literal = fc
    .array(fc.constantFrom("x", "{", "}", "$x", "é", "😀", "\n", "${", "A"))
    .map((parts) => parts.join(""));
  const pieces = fc.array(
    fc.oneof(
      literal.map((text) => ({ text })),
      name.map((each) => ({ name: each })),
    ),
  );
  const values = fc.dictionary(name, fc.oneof(literal, fc.string({ unit: "binary" })));

  it("are replaced, and everything else stays", () => {
    fc.assert(
      fc.property(pieces, values, (some, given) => {
        const template = some.map(written).join("");
        const names = [...new Set(some.flatMap((piece) => ("name" in piece ? [piece.name] : [])))];
        expect(variablesIn(template)).toEqual(names);
        const missing = names.filter((each) => !Object.hasOwn(given, each));
        const value = some.map((piece) => ("text" in piece ? piece.text : given[piece.name])).join("");
        expect(substitute(template, variables(given))).toEqual(
          missing.length > 0 ? { ok: false, missing } : { ok: true, value, secrets: [] },
        );
      }),
    );
  });

  it("never make anything throw when a revision is checked", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("$", "{", "}", "A", "1", " ")), (parts) => {
        const text = parts.join("");
        const parsed = parseTemplate(text);
        if (!parsed.ok) expect(text.startsWith("${", parsed.position)).toBe(true);
        if (!text.includes("${")) expect(parsed).toEqual({ ok: true, pieces: text === "" ? [] : [{ text }] });
      }),
    );
  });
});
