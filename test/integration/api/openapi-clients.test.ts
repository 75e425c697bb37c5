import { afterAll, beforeAll, expect, test } from "vitest";
import { ERRORS } from "../../../src/protocol/errors/errors.ts";
import { COMPONENT_NAMES } from "../../../src/control-plane/api/docs/component-names.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { Conformance, type OpenApiDocument } from "../../support/openapi/conformance.ts";
import { readDocument } from "../../support/openapi/read-document.ts";

/** What clients that are generated from the document, or validate by it, rely on. */

type Schema = Readonly<Record<string, unknown>>;
interface Media {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}
interface Operation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly required?: boolean }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<
    Record<string, { readonly headers?: object; readonly content?: Readonly<Record<string, Media>> }>
  >;
}

let control: ControlPlane;
let text: string;
let document: OpenApiDocument;
beforeAll(async () => {
  control = await startControlPlane();
  text = await (await fetch(`${control.url}/openapi.json`)).text();
  document = await readDocument(control.url);
});
afterAll(() => control[Symbol.asyncDispose]());

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation as unknown as Operation,
    ]),
  );

/** Calls `visit` for the schema and each one that it contains or refers to. */
function walk(schema: Schema, visit: (schema: Schema) => void, seen: Set<Schema> = new Set()): void {
  if (typeof schema !== "object" || schema === null || seen.has(schema)) return;
  seen.add(schema);
  visit(schema);
  const { $ref, examples: _examples, properties = {}, ...rest } = schema;
  if (typeof $ref === "string") walk(document.components.schemas[$ref.split("/").at(-1) ?? ""] as Schema, visit, seen);
  for (const child of [...Object.values(properties as Schema), ...Object.values(rest).flat()])
    walk(child as Schema, visit, seen);
}

const responseBodies = (): Media[] =>
  operations().flatMap(([, { responses }]) =>
    Object.values(responses).flatMap(({ content = {} }) => Object.values(content)),
  );

test("the document is small enough to be read by every client, page and generator", () => {
  expect(text.length).toBeLessThan(400_000);
});

test("requests are closed: what the service refuses, a client sees beforehand", () => {
  const open: string[] = [];
  for (const [name, { requestBody }] of operations()) {
    for (const { schema } of Object.values(requestBody?.content ?? {}))
      walk(schema, ({ properties, additionalProperties }) => {
        if (properties && additionalProperties !== false) open.push(`${name}: ${Object.keys(properties).join()}`);
      });
  }
  expect(open).toEqual([]);
});

test("responses are open: a later version may add fields and values, except where the specification lists all", () => {
  const complete = new Set([
    ["active", "inactive"].join(),
    ["Running", "Success", "Fail"].join(),
    ["supersim", "prosim"].join(),
  ]);
  const closed = new Set<string>();
  let listed = 0;
  for (const { schema } of responseBodies())
    walk(schema, ({ additionalProperties, enum: values, "x-extensible-enum": extensible, properties }) => {
      if (additionalProperties === false) closed.add(`an object with ${Object.keys(properties ?? {}).join()}`);
      if (Array.isArray(values) && !complete.has(values.join())) closed.add(`an enumeration of ${values.join()}`);
      if (extensible) listed++;
    });
  expect([...closed]).toEqual([]);
  expect(listed).toBeGreaterThan(100);
});

test("integers that 32 bits may not hold say so", () => {
  const plain = new Set<string>();
  let long = 0;
  for (const schema of Object.values(document.components.schemas) as Schema[])
    walk(schema, ({ type, maximum, format, description }) => {
      if (![type].flat().includes("integer")) return;
      if (typeof maximum === "number" && maximum < 2 ** 31) return;
      if (format === "int64") long++;
      else plain.add(String(description));
    });
  expect([...plain]).toEqual([]);
  expect(long).toBeGreaterThan(100);
});

test("every example of a response fits its schema, and each refusal has one", () => {
  const conformance = new Conformance(document);
  // Most operations have the same schemas and examples.
  const places = new Map<string, string>();
  const checked = new Set<string>();
  for (const [name, { responses }] of operations()) {
    const [method = "", path = ""] = name.split(" ");
    for (const [status, { content = {} }] of Object.entries(responses)) {
      for (const [type, { schema, examples = {} }] of Object.entries(content)) {
        // One of a refusal as an event is in `default`.
        if (!/^[23]/.test(status) && !(type === "text/event-stream" && status !== "default"))
          expect(Object.keys(examples), `${name} ${status}`).not.toEqual([]);
        const schemaText = JSON.stringify(schema);
        const keys = ["paths", path, method.toLowerCase(), "responses", status, "content", type, "schema"];
        const pointer = keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
        const place = places.get(schemaText) ?? pointer;
        places.set(schemaText, place);
        for (const [example, { value }] of Object.entries(examples)) {
          const text = schemaText + JSON.stringify(value);
          if (checked.has(text)) continue;
          checked.add(text);
          expect(conformance.fits(place, value), `${name} ${status} ${example}`).toBe(true);
        }
      }
    }
  }
  expect(checked.size).toBeGreaterThan(80);
});

const codesWith = (header: string): ReadonlySet<string> =>
  new Set(
    operations().flatMap(([, { responses }]) =>
      Object.values(responses)
        .filter(({ headers = {} }) => header in headers)
        .flatMap(({ content = {} }) => Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples))),
    ),
  );

test("refusals with a pause or a challenge say so", () => {
  expect([...codesWith("WWW-Authenticate")]).toContain("Unauthorized");
  const paused = codesWith("Retry-After");
  for (const [code, entry] of Object.entries(ERRORS))
    if ("http" in entry && [429, 503].includes(entry.http)) expect([...paused], code).toContain(code);
});

/** The rules of Spectral (`spectral:oas`) and Redocly (`recommended`) that the generator does not keep by itself. */
test("public linters find nothing", () => {
  const { info, tags, servers } = JSON.parse(text) as {
    readonly info: { readonly contact?: object; readonly license?: object; readonly description?: string };
    readonly tags: readonly { readonly name: string; readonly description?: string }[];
    readonly servers: readonly unknown[];
  };
  expect(info).toMatchObject({ contact: expect.anything(), license: { name: expect.any(String) } });
  expect(servers).not.toEqual([]);
  const known = new Map(tags.map(({ name, description }) => [name, description]));
  for (const [name, operation] of operations()) {
    expect(operation.summary, name).toBeTruthy();
    expect(operation.description, name).toBeTruthy();
    expect(operation.operationId, name).toMatch(/^[A-Za-z0-9]+$/);
    for (const tag of operation.tags) expect(known.get(tag), `${name}: ${tag}`).toBeTruthy();
    const declared = (operation.parameters ?? []).filter((each) => each.in === "path").map((each) => each.name);
    expect(new Set(declared), name).toEqual(new Set([...name.matchAll(/\{(\w+)\}/g)].map(([, each]) => each)));
  }
  for (const [, description] of known) expect(description).toBeTruthy();
  for (const schema of Object.values(document.components.schemas) as Schema[])
    walk(schema, ({ required = [], properties = {}, minLength = 0, maxLength = 0, minItems = 0, maxItems = 0 }) => {
      expect(Object.keys(properties as Schema)).toEqual(expect.arrayContaining(required as string[]));
      expect([minLength, maxLength, minItems, maxItems].filter((bound) => !Number.isInteger(bound))).toEqual([]);
    });
  // Components that nothing refers to.
  const { components } = JSON.parse(text) as { components: Readonly<Record<string, object>> };
  for (const [kind, members] of Object.entries(components))
    if (kind !== "securitySchemes")
      for (const name of Object.keys(members)) expect(text).toContain(`"#/components/${kind}/${name}"`);
});

test("names that reach clients are no numbers, which would move with every addition", () => {
  const { components } = JSON.parse(text) as { components: Readonly<Record<string, object>> };
  const named = ["schemas", "parameters", "headers", "responses"].flatMap((kind) =>
    Object.keys(components[kind] ?? {}),
  );
  const numbered = named.filter((name) => /\d$/.test(name) && named.includes(name.replace(/\d+$/, "")));
  expect(numbered).toEqual([]);
  for (const name of COMPONENT_NAMES) expect(named).toContain(name);
});
