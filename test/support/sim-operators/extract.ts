import { readFile } from "node:fs/promises";
import { Ajv2020 } from "ajv/dist/2020.js";

const FIXTURES = new URL("../../fixtures/sim-operators/", import.meta.url);
const ID = "https://operator.invalid/openapi.json";

/** Formats that say something of a text. The others are kinds of numbers, or names for people. */
const FORMATS = {
  "date-time": /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
  uri: (text: string) => URL.canParse(text),
} as const;
const LOOSE_FORMATS = ["double", "int64", "password", "iso-country-code", "http-method", "uri-map", "currency"];

interface Media {
  readonly schema?: unknown;
}
interface Parameter {
  readonly name: string;
  readonly in: "query" | "path" | "header";
  readonly required?: boolean;
  readonly schema: unknown;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** A request as a server gets it. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: URL;
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

/** An operator's OpenAPI document, reduced to its structure: what requests and responses have to look like. */
export class Extract {
  readonly #document: Document;
  /** Of parameters, which are texts. */
  readonly #coercing = new Ajv2020({ strict: false, allErrors: true, coerceTypes: true });
  readonly #exact = new Ajv2020({ strict: false, allErrors: true });

  private constructor(document: Document) {
    this.#document = document;
    for (const ajv of [this.#coercing, this.#exact]) {
      for (const [name, format] of Object.entries(FORMATS)) ajv.addFormat(name, format);
      for (const name of LOOSE_FORMATS) ajv.addFormat(name, true);
      ajv.addSchema({ $id: ID, ...document });
    }
  }

  /** @param known what is known of the operator beside its document: values by their JSON pointer there */
  static async load(file: string, known: Readonly<Record<string, unknown>> = {}): Promise<Extract> {
    const document = JSON.parse(await readFile(new URL(file, FIXTURES), "utf8")) as Document;
    for (const [pointer, value] of Object.entries(known)) setAt(document, pointer, value);
    return new Extract(JSON.parse(JSON.stringify(document), asClosedSchema) as Document);
  }

  /** Every operation, as `GET /v1/Sims/{Sid}`. */
  get operations(): readonly string[] {
    return Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== "parameters")
        .map((method) => `${method.toUpperCase()} ${path}`),
    );
  }

  /** The path of the document that this one fits; literal parts come before parameters. */
  templateOf(pathname: string): string | undefined {
    return Object.keys(this.#document.paths)
      .toSorted((one, other) => one.split("{").length - other.split("{").length)
      .find((path) => new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`).test(pathname));
  }

  /** What is wrong with a request; empty if it fits. A field that the document does not name is wrong. */
  requestProblems(request: ReceivedRequest): string[] {
    const { method, url } = request;
    const template = this.templateOf(url.pathname);
    const operation = template === undefined ? undefined : this.#document.paths[template]?.[method.toLowerCase()];
    if (template === undefined || !operation) return [`there is no ${method} ${url.pathname}`];
    const pointer = `/paths/${escape(template)}/${method.toLowerCase()}`;
    return [
      ...this.#parameterProblems(operation.parameters ?? [], pointer, request),
      ...this.#bodyProblems(operation.requestBody?.content, pointer, request),
    ];
  }

  #parameterProblems(parameters: readonly Parameter[], pointer: string, request: ReceivedRequest): string[] {
    const problems: string[] = [];
    for (const [name, value] of request.url.searchParams) {
      const index = parameters.findIndex((parameter) => parameter.in === "query" && parameter.name === name);
      if (index === -1) problems.push(`unknown parameter ${name}`);
      else
        problems.push(...this.#check(this.#coercing, `${pointer}/parameters/${index}/schema`, value).map(named(name)));
    }
    for (const { name, in: place, required } of parameters) {
      if (required !== true || place === "path") continue;
      const isGiven = place === "query" ? request.url.searchParams.has(name) : request.authorization !== undefined;
      if (!isGiven) problems.push(`${name} is missing`);
    }
    return problems;
  }

  #bodyProblems(
    content: Readonly<Record<string, Media>> | undefined,
    pointer: string,
    { contentType, body }: ReceivedRequest,
  ): string[] {
    if (!content) return body === "" ? [] : ["a body where none is expected"];
    const media = contentType?.split(";")[0] ?? "";
    if (!content[media]) return [`a body of ${media || "no type"}`];
    const value: unknown = media.endsWith("json") ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
    return this.#check(this.#exact, `${pointer}/requestBody/content/${escape(media)}/schema`, value);
  }

  /** What is wrong with a response to this operation; empty if it fits. */
  responseProblems(
    method: string,
    template: string,
    { status, body }: { readonly status: number; readonly body?: unknown },
  ): string[] {
    const response = this.#document.paths[template]?.[method.toLowerCase()]?.responses[status];
    // Of errors the documents say little.
    if (!response) return status < 400 ? [`${method} ${template} does not answer ${status}`] : [];
    if (body === undefined || !response.content?.["application/json"]) return [];
    const pointer = `/paths/${escape(template)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    return this.#check(this.#exact, pointer, body);
  }

  #check(ajv: Ajv2020, pointer: string, value: unknown): string[] {
    // A schema of the holder, so that a parameter can be coerced in its place.
    const id = `${ID}/holder/${encodeURIComponent(pointer)}`;
    const validate =
      ajv.getSchema(id) ??
      ajv.compile({ $id: id, type: "object", properties: { value: { $ref: `${ID}#${encodeURI(pointer)}` } } });
    if (validate({ value })) return [];
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath.replace(/^\/value/, ""), message, params["additionalProperty"]].filter(Boolean).join(" "),
    );
  }
}

function named(name: string): (problem: string) => string {
  return (problem) => `${name}: ${problem}`;
}

function setAt(document: unknown, pointer: string, value: unknown): void {
  const keys = pointer.slice(1).split("/").map(unescape);
  const last = keys.pop() ?? "";
  let holder = document as Record<string, unknown>;
  for (const key of keys) {
    const next = holder[key];
    if (typeof next !== "object" || next === null) throw new Error(`the document has no ${pointer}`);
    holder = next as Record<string, unknown>;
  }
  holder[last] = value;
}

function unescape(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}

function escape(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

/**
 * OpenAPI 3.0 says `nullable` where JSON Schema has the type `null`. Objects have the properties that are named and no others, so
 * that neither a wrong name nor one that nobody has recorded passes.
 */
function asClosedSchema(key: string, value: unknown): unknown {
  if (key === "properties" || typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { nullable, ...schema } = value as Record<string, unknown>;
  const type = nullable === true && "type" in schema ? { type: [schema["type"], "null"] } : {};
  const closed = typeof schema["properties"] === "object" ? { additionalProperties: false } : {};
  return { ...schema, ...closed, ...type };
}
