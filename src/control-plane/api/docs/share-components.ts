type Fields = Readonly<Record<string, unknown>>;

interface Operation extends Fields {
  readonly parameters?: readonly Parameter[];
  readonly responses?: Readonly<Record<string, Response>>;
}
interface Parameter {
  readonly name: string;
}
interface Response extends Fields {
  readonly headers?: Fields;
  readonly content?: Readonly<Record<string, Body>>;
}
interface Body {
  readonly schema?: { readonly $ref?: string };
  readonly examples?: Fields;
}
interface Document {
  readonly components?: Fields;
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** A field of several schemas is worth a name from this length on, in characters. */
const MIN_FIELD_LENGTH = 120;

/**
 * Moves the parameters, response headers and responses that several operations have, and the larger fields that several
 * schemas have, to the components of an OpenAPI document.
 * Most of it would be repetitions of them otherwise, and clients that are generated from it, too.
 */
export function shareComponents(document: object): object {
  const { components, paths = {}, ...rest } = document as Document;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const responses = operations.flatMap((operation) => Object.values(operation.responses ?? {}));
  const sharedHeaders = new Shared(
    "headers",
    responses.flatMap((response) => Object.entries(response.headers ?? {})),
  );
  const withHeaders = (response: Response): Response =>
    response.headers
      ? { ...response, headers: mapValues(response.headers, (header) => sharedHeaders.reference(header)) }
      : response;
  const sharedResponses = new Shared(
    "responses",
    responses.map(withHeaders).flatMap((response) => {
      const name = responseName(response);
      return name === undefined ? [] : [[name, response]];
    }),
  );
  const sharedParameters = new Shared(
    "parameters",
    operations.flatMap(({ parameters = [] }) => parameters.map((each): Named => [pascalCase(each.name), each])),
  );
  const schemas = (components?.["schemas"] ?? {}) as Fields;
  const sharedFields = new Shared(
    "schemas",
    fieldsOf(schemas).filter(([, field]) => JSON.stringify(field).length >= MIN_FIELD_LENGTH),
    schemas,
  );
  const share = ({ parameters, responses: own = {}, ...operation }: Operation): Operation =>
    ({
      ...operation,
      ...(parameters && { parameters: parameters.map((each) => sharedParameters.reference(each)) }),
      responses: mapValues(own, (response) => sharedResponses.reference(withHeaders(response))),
    }) as Operation;
  return {
    ...rest,
    paths: mapValues(paths, (methods) => mapValues(methods, share)),
    components: {
      ...components,
      schemas: {
        ...(withSharedFields(schemas, sharedFields) as Fields),
        ...mapValues(sharedFields.components, (field) => withSharedFields(field, sharedFields)),
      },
      parameters: sharedParameters.components,
      headers: sharedHeaders.components,
      responses: sharedResponses.components,
    },
  };
}

type Named = readonly [name: string, value: unknown];

/** Components of one kind: the values that occur more than once. */
class Shared {
  readonly components: Record<string, unknown> = {};
  readonly #kind: string;
  readonly #taken: Fields;
  /** Name by the text of the value. */
  readonly #names = new Map<string, string>();

  /** @param taken components whose names are not free */
  constructor(kind: string, all: readonly Named[], taken: Fields = {}) {
    this.#kind = kind;
    this.#taken = taken;
    const byText = Map.groupBy(all, ([, value]) => JSON.stringify(value));
    const several = [...byText].filter(([, found]) => found.length > 1);
    // The value that is used most has the plain name.
    for (const [text, [first]] of several.toSorted(([, a], [, b]) => b.length - a.length)) {
      const [name, value] = first as Named;
      const free = this.#freeName(name);
      this.components[free] = value;
      this.#names.set(text, free);
    }
  }

  /** The value itself, if it occurs only once. */
  reference(value: unknown): unknown {
    const name = this.#names.get(JSON.stringify(value));
    return name === undefined ? value : { $ref: `#/components/${this.#kind}/${name}` };
  }

  #freeName(name: string): string {
    for (let number = 1; ; number++) {
      const candidate = number === 1 ? name : `${name}${number}`;
      if (!(candidate in this.components) && !(candidate in this.#taken)) return candidate;
    }
  }
}

/** The fields of objects anywhere in a schema, or in a map of schemas. */
function fieldsOf(schema: unknown): Named[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties, ...rest } = schema as Fields;
  const fields = isMap(properties)
    ? Object.entries(properties).map(([name, field]): Named => [pascalCase(name), field])
    : [];
  return [...fields, ...[...fields.map(([, field]) => field), ...Object.values(rest)].flatMap(fieldsOf)];
}

function withSharedFields(schema: unknown, shared: Shared): unknown {
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

function isMap(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * After the codes of an error, or the schema of another body. `undefined` without a body. Every change may have the errors of
 * repeated requests: they are named only where there are no others.
 */
function responseName({ content = {} }: Response): string | undefined {
  const [[type, { schema }] = ["", {}]] = Object.entries(content);
  const names = Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples));
  const codes = names.filter((name) => /^[A-Z]/.test(name));
  const specific = codes.filter((code) => !code.startsWith("Idempotency"));
  const named = specific.length > 0 ? specific : codes;
  const subject = named.length > 0 ? named.join("Or") : schema?.$ref?.split("/").at(-1);
  if (subject === undefined) return undefined;
  return type === "application/json" ? subject : `${subject}Stream`;
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[_-])([a-z])/gi, (_match, letter: string) => letter.toUpperCase());
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
