import { nameAt } from "./component-names.ts";
import { type Fields, isMap, mapValues, type Named, pascalCase, Shared } from "./shared.ts";

/** A name costs readers a look: a field of several schemas gets one if it saves as many characters. */
const MIN_SAVED = 60;

const REFERENCE_LENGTH = '{"$ref":"#/components/schemas/"}'.length;

/** Fields that several schemas have, also where one of them has a default beside it, or may be `null`. */
export class SharedFields {
  readonly #shared: Shared;

  /** @param schemas components whose names are not free */
  constructor(fields: readonly Named[], schemas: Fields) {
    const all = fields.map(([name, field, given]): Named => [name, plainOf(field), given]);
    const exact = new Set(all.map(([, field]) => JSON.stringify(field)));
    // A field that may be `null` counts as one without if there is one: each would save the other.
    const counted = all.map(([name, field, given]): Named => {
      const value = withoutNull(field);
      return [name, value !== undefined && exact.has(JSON.stringify(value)) ? value : field, given];
    });
    this.#shared = new Shared("schemas", counted, schemas, (text, count, name) => {
      const perUse = REFERENCE_LENGTH + name.length;
      return (count - 1) * text.length - count * perUse >= MIN_SAVED;
    });
  }

  get components(): Fields {
    return this.#shared.components;
  }

  /** The field itself, if no other has its schema. */
  reference(field: unknown): unknown {
    const plain = plainOf(field);
    const beside = isMap(field) && "default" in field ? { default: field["default"] } : {};
    const reference = this.#shared.reference(plain);
    if (reference !== plain) return { ...beside, ...(reference as object) };
    const value = withoutNull(plain);
    const ofValue = this.#shared.reference(value);
    return value === undefined || ofValue === value ? field : { ...beside, anyOf: [ofValue, { type: "null" }] };
  }
}

/** The fields of objects anywhere in some schemas; those of a field that occurs again only once. */
export function fieldsOf(schemas: Fields): Named[] {
  const seen = new Set<string>();
  return Object.entries(schemas).flatMap(([name, schema]) => fieldsIn(schema, name, seen));
}

/** @param owner name of the schema of the document that it is in */
function fieldsIn(schema: unknown, owner: string, seen: Set<string>): Named[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties, ...rest } = schema as Fields;
  const fields = isMap(properties) ? Object.entries(properties) : [];
  const inside = fields.flatMap(([, field]) => {
    const text = JSON.stringify(plainOf(field));
    if (seen.has(text)) return [];
    seen.add(text);
    return fieldsIn(field, owner, seen);
  });
  return [
    ...fields.map(([name, field]): Named => [pascalCase(name), field, nameAt(`${owner}.${name}`)]),
    ...inside,
    ...Object.values(rest).flatMap((each) => fieldsIn(each, owner, seen)),
  ];
}

/** Puts references in the places of shared fields. */
export function withSharedFields(schema: unknown, shared: SharedFields): unknown {
  if (Array.isArray(schema)) return schema.map((each: unknown) => withSharedFields(each, shared));
  if (!isMap(schema)) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === "properties" && isMap(value)
        ? mapValues(value, (field) => {
            const reference = shared.reference(field);
            return reference === field ? withSharedFields(field, shared) : reference;
          })
        : withSharedFields(value, shared),
    ]),
  );
}

/** The field without its default, its keys in one order. */
function plainOf(field: unknown): unknown {
  if (!isMap(field)) return field;
  const { default: _default, ...rest } = field;
  return Object.fromEntries(Object.entries(rest).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** The schema of the field's values but `null`; `undefined` if they are all. */
function withoutNull(field: unknown): unknown {
  if (!isMap(field)) return undefined;
  const { type, anyOf, ...rest } = field;
  if (Array.isArray(type) && type.length === 2 && type[1] === "null")
    return plainOf({ ...field, type: type[0] as unknown });
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || type !== undefined) return undefined;
  const [value, none] = anyOf as [unknown, unknown];
  if (JSON.stringify(none) !== '{"type":"null"}' || !isMap(value)) return undefined;
  return plainOf({ ...value, ...rest });
}
