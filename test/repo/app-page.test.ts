import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { z } from "zod";
import { newAppSpecSchema, parseNewAppSpec } from "../../src/protocol/apps/app-spec.ts";

const page = await readFile("docs/apps.md", "utf8");

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
}

/** Paths of all fields, as the page writes them: `ports[].host_port`. Lists and objects stand for their fields. */
function fieldsOf(schema: Schema, definitions: Readonly<Record<string, Schema>>, path: string = ""): string[] {
  const resolved = schema.$ref ? (definitions[schema.$ref.replace("#/$defs/", "")] ?? {}) : schema;
  if (resolved.items) {
    const inner = fieldsOf(resolved.items, definitions, `${path}[]`);
    return inner.length === 1 ? [path] : inner;
  }
  if (!resolved.properties) return [path];
  return Object.entries(resolved.properties).flatMap(([name, field]) =>
    fieldsOf(field, definitions, path === "" ? name : `${path}.${name}`),
  );
}

test("docs/apps.md has a row for each field of an app, and for nothing else", () => {
  const schema = z.toJSONSchema(newAppSpecSchema, { io: "input" }) as Schema;
  const fields = fieldsOf(schema, schema.$defs ?? {});
  expect(fields.length).toBeGreaterThan(25);
  const rows = [...page.matchAll(/^\| `([^`]+)` /gm)].map(([, field = ""]) => field);
  // The name has no table: it is explained with the first example.
  expect(["name", ...rows].toSorted()).toEqual(fields.toSorted());
});

test("each example of docs/apps.md is valid", () => {
  const examples = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => JSON.parse(json ?? "") as object);
  expect(examples.length).toBeGreaterThan(8);
  for (const example of examples) {
    const parsed = parseNewAppSpec({ name: "app", image: "example/app:1", ...example });
    expect(parsed, JSON.stringify(example)).toMatchObject({ ok: true });
  }
});
