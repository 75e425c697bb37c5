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

/**
 * Moves the parameters, response headers and responses that several operations have to the components of an OpenAPI document.
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
  /** Name by the text of the value. */
  readonly #names = new Map<string, string>();

  constructor(kind: string, all: readonly Named[]) {
    this.#kind = kind;
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
      if (!(candidate in this.components)) return candidate;
    }
  }
}

/** After the codes of an error, or the schema of another body. `undefined` without a body. */
function responseName({ content = {} }: Response): string | undefined {
  const [[type, { schema, examples = {} }] = ["", {}]] = Object.entries(content);
  const schemaName = schema?.$ref?.split("/").at(-1);
  const codes = Object.keys(examples).filter((name) => /^[A-Z]/.test(name));
  const subject = codes.length > 0 ? codes.join("Or") : schemaName;
  if (subject === undefined) return undefined;
  return type === "application/json" ? subject : `${subject}Stream`;
}

function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[_-])([a-z])/gi, (_match, letter: string) => letter.toUpperCase());
}

function mapValues<T, R>(values: Readonly<Record<string, T>>, map: (value: T) => R): Record<string, R> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));
}
