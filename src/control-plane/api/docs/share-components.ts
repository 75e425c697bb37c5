import { nameAt } from "./component-names.ts";
import { fieldsOf, SharedFields, withSharedFields } from "./share-fields.ts";
import { type Fields, mapValues, type Named, pascalCase, Shared } from "./shared.ts";

interface Operation extends Fields {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly responses?: Readonly<Record<string, Response>>;
}
interface Parameter extends Fields {
  readonly name: string;
  readonly schema?: Fields;
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
 * Moves the parameters, response headers, examples and responses that several operations have, and the fields that several
 * schemas have, to the components of an OpenAPI document.
 * Most of it would be repetitions of them otherwise, and clients that are generated from it, too.
 */
export function shareComponents(document: object): object {
  const { components, paths = {}, ...rest } = document as Document;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const named = operations.flatMap(({ operationId, responses: own = {} }) =>
    Object.entries(own).flatMap(([status, response]) => nameOf(status, response, nameAt(`${operationId}.${status}`))),
  );
  const responses = operations.flatMap((operation) => Object.values(operation.responses ?? {}));

  const sharedResponses = new Shared("responses", named);
  // What one response has twice is in it once: the others refer to it.
  const different = [...new Map(responses.map((response) => [JSON.stringify(response), response])).values()];
  const sharedHeaders = new Shared(
    "headers",
    different.flatMap(({ headers = {} }) => Object.entries(headers)),
  );
  const sharedExamples = new Shared(
    "examples",
    different.flatMap(({ content = {} }) =>
      Object.values(content).flatMap(({ examples = {} }) => namedExamples(examples)),
    ),
  );
  const inside = (response: Response): Response => ({
    ...response,
    ...(response.headers && { headers: mapValues(response.headers, (header) => sharedHeaders.reference(header)) }),
    ...(response.content && {
      content: mapValues(response.content, (body) => ({
        ...body,
        ...(body.examples && { examples: mapValues(body.examples, (example) => sharedExamples.reference(example)) }),
      })),
    }),
  });
  const schemas = (components?.["schemas"] ?? {}) as Fields;
  const withReference = referenceValues(schemas);
  const sharedParameters = new Shared(
    "parameters",
    operations.flatMap(({ operationId, parameters = [] }) =>
      parameters.map((each): Named => [
        pascalCase(each.name),
        withReference(each),
        nameAt(`${operationId}.${each.name}`),
      ]),
    ),
  );
  const sharedFields = new SharedFields(fieldsOf(schemas), schemas);
  const share = ({ parameters, responses: own = {}, ...operation }: Operation): Operation =>
    ({
      ...operation,
      ...(parameters && { parameters: parameters.map((each) => sharedParameters.reference(withReference(each))) }),
      responses: mapValues(own, (response) => {
        const reference = sharedResponses.reference(response);
        return reference === response ? inside(response) : reference;
      }),
    }) as Operation;
  return {
    ...rest,
    paths: mapValues(paths, (methods) => ofPath(mapValues(methods, share))),
    components: {
      ...components,
      schemas: {
        ...(withSharedFields(schemas, sharedFields) as Fields),
        ...mapValues(sharedFields.components, (field) => withSharedFields(field, sharedFields)),
      },
      parameters: sharedParameters.components,
      headers: sharedHeaders.components,
      examples: sharedExamples.components,
      responses: mapValues(sharedResponses.components, (response) => inside(response as Response)),
    },
  };
}

/** Lets a parameter refer to the enumeration of a request that it takes a value of. */
function referenceValues(schemas: Fields): (parameter: Parameter) => Parameter {
  const enumerations = Object.entries(schemas as Readonly<Record<string, Fields>>).flatMap(([name, schema]) =>
    "enum" in schema ? [[JSON.stringify(schema["enum"]), name] as const] : [],
  );
  const names = new Map(enumerations);
  return (parameter) => {
    const name = names.get(JSON.stringify(parameter.schema?.["enum"]));
    return name === undefined ? parameter : { ...parameter, schema: { $ref: `#/components/schemas/${name}` } };
  };
}

/** Says once for a path which parameters all of its operations have: those in it, mostly. */
function ofPath(operations: Readonly<Record<string, Operation>>): Fields {
  const all = Object.values(operations).map(({ parameters = [] }) => parameters);
  const isShared = (parameter: Parameter): boolean =>
    all.length > 1 && all.every((each) => each.some((other) => JSON.stringify(other) === JSON.stringify(parameter)));
  const shared = (all[0] ?? []).filter(isShared);
  if (shared.length === 0) return operations;
  const own = mapValues(operations, ({ parameters = [], ...operation }) => {
    const left = parameters.filter((each) => !isShared(each));
    return { ...operation, ...(left.length > 0 && { parameters: left }) };
  });
  return { parameters: shared, ...own };
}

/** Codes that most operations have: they name a response only if it has no others, and then the first of them does. */
const COMMON_CODES: ReadonlySet<string> = new Set([
  "BadRequest",
  "InvalidRequest",
  "TooManyRequests",
  "ServiceUnavailable",
  "Forbidden",
  "CrossSiteRequest",
  "IdempotencyKeyReused",
  "IdempotencyInProgress",
  "IdempotencyResponseLost",
]);

/** After the codes of an error, or the schema of another body. Without a body only that of a client which has it already. */
function nameOf(status: string, response: Response, given: string | undefined): Named[] {
  if (status === "304") return [["NotModified", response]];
  const { content = {} } = response;
  if (status === "default") return [["text/event-stream" in content ? "ErrorStream" : "Error", response]];
  const [[type, { schema }] = ["", {}]] = Object.entries(content);
  const names = Object.values(content).flatMap(({ examples = {} }) => Object.keys(examples));
  const codes = names.filter((name) => /^[A-Z]/.test(name));
  const specific = codes.filter((code) => !COMMON_CODES.has(code));
  const named = specific.length > 0 ? specific : codes.slice(0, 1);
  const subject = named.length > 0 ? named.join("Or") : schema?.$ref?.split("/").at(-1);
  if (subject === undefined) return [];
  return [[type === "application/json" ? subject : `${subject}Stream`, response, given]];
}

/** Examples of errors are named after their code; those of messages after what they are an example of. */
function namedExamples(examples: Fields): Named[] {
  return Object.entries(examples).map(([name, example]) => [pascalCase(name.replaceAll(" ", "_")), example]);
}
