interface Schema {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
}
type Schemas = Readonly<Record<string, Schema>>;

interface Document {
  readonly components?: { readonly schemas?: Schemas };
}

/**
 * Refers to a schema from those that have all of its fields and more, instead of repeating them, such as to `Asset` from
 * `RegisteredAsset`. Only open schemas can be extended.
 */
export function composeSchemas(document: object): object {
  const { components, ...rest } = document as Document;
  const schemas = components?.schemas ?? {};
  const composed = Object.entries(schemas).map(([name, schema]) => [name, compose(name, schema, schemas)]);
  return { ...rest, components: { ...components, schemas: Object.fromEntries(composed) } };
}

function compose(name: string, schema: Schema, schemas: Schemas): object {
  const [base] = Object.entries(schemas)
    .filter(([other, candidate]) => other !== name && isExtendedBy(candidate, schema))
    .toSorted(([, a], [, b]) => sizeOf(b) - sizeOf(a));
  if (!base) return schema;
  const [baseName, { properties: known = {}, required: alreadyRequired = [] }] = base;
  const { properties = {}, required = [], ...annotations } = schema;
  const own = Object.fromEntries(Object.entries(properties).filter(([field]) => !(field in known)));
  const ownRequired = required.filter((field) => !alreadyRequired.includes(field));
  const extension = {
    type: "object",
    properties: own,
    ...(ownRequired.length > 0 && { required: ownRequired }),
  };
  return { ...annotations, allOf: [{ $ref: `#/components/schemas/${baseName}` }, extension] };
}

function isExtendedBy(base: Schema, schema: Schema): boolean {
  if (!isOpenObject(base) || !isOpenObject(schema) || sizeOf(base) >= sizeOf(schema)) return false;
  const { properties = {}, required = [] } = schema;
  return Object.entries(base.properties ?? {}).every(
    ([field, value]) =>
      field in properties &&
      JSON.stringify(properties[field]) === JSON.stringify(value) &&
      required.includes(field) === (base.required ?? []).includes(field),
  );
}

function isOpenObject({ properties, additionalProperties }: Schema): boolean {
  return properties !== undefined && Object.keys(properties).length > 0 && additionalProperties === undefined;
}

function sizeOf({ properties = {} }: Schema): number {
  return Object.keys(properties).length;
}
