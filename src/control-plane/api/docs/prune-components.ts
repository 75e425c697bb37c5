const PREFIX = "#/components/schemas/";
/** Suffix that the generator adds to the name of a schema in its request form. */
const INPUT = "Input";

type Schemas = Readonly<Record<string, unknown>>;

interface Document {
  readonly components?: { readonly schemas?: Schemas };
}

/**
 * Removes unreferenced shared schemas from an OpenAPI document. The generator lists each in two forms, for requests and
 * for responses; where only the request form is used, or both are the same, it gets the plain name. Examples that both forms have
 * stay in the request.
 */
export function pruneComponents(document: Document): object {
  const schemas = document.components?.schemas ?? {};
  const used = reachable({ ...document, components: undefined }, schemas);
  const kept = Object.fromEntries([...used].map((name) => [name, schemas[name]]));
  const pruned: Document = { ...document, components: { ...document.components, schemas: kept } };
  const isSame = (name: string, plain: string): boolean =>
    !used.has(plain) || JSON.stringify(schemas[name]) === JSON.stringify(schemas[plain]);
  const renamed = [...used].filter((name) => name.endsWith(INPUT) && isSame(name, name.slice(0, -INPUT.length)));
  for (const name of used) {
    const { examples, ...schema } = kept[name] as Readonly<Record<string, unknown>>;
    const request = used.has(name + INPUT) ? (kept[name + INPUT] as typeof schema) : {};
    const isRepeated = examples !== undefined && JSON.stringify(examples) === JSON.stringify(request["examples"]);
    if (isRepeated && !renamed.includes(name + INPUT)) kept[name] = schema;
  }
  return rename(pruned, new Map(renamed.map((name) => [name, name.slice(0, -INPUT.length)])));
}

function reachable(root: unknown, schemas: Schemas): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    for (const name of references(value)) {
      if (found.has(name) || !Object.hasOwn(schemas, name)) continue;
      found.add(name);
      visit(schemas[name]);
    }
  };
  visit(root);
  return found;
}

function references(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) =>
    key === "$ref" && typeof child === "string" ? [child.slice(PREFIX.length)] : references(child),
  );
}

/** Renames schemas in one pass: the document is large, and its first reader waits for it. @param names new name by old name */
function rename(document: Document, names: ReadonlyMap<string, string>): object {
  const schemas: Record<string, unknown> = { ...document.components?.schemas };
  for (const [name, plain] of names) {
    schemas[plain] = schemas[name];
    delete schemas[name];
  }
  const renamed = { ...document, components: { ...document.components, schemas } };
  return JSON.parse(JSON.stringify(renamed), (key, value: unknown) => {
    const plain = key === "$ref" ? names.get(String(value).slice(PREFIX.length)) : undefined;
    return plain === undefined ? value : PREFIX + plain;
  }) as object;
}
