import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { ERRORS } from "../../../src/protocol/errors.ts";

/** A request and the server's response to it. */
export interface Exchange {
  readonly method: string;
  /** Path and query as requested. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly allow: string | undefined;
  readonly body: string;
}

interface Media {
  readonly schema?: unknown;
}
interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Media>> }>>;
}
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const ANY_ERROR = {
  type: "object",
  properties: {
    code: { enum: Object.keys(ERRORS) },
    message: { type: "string", minLength: 1 },
    details: { type: "object" },
  },
  required: ["code", "message"],
  additionalProperties: false,
};

const DOCUMENT_ID = "https://edge-control.invalid/openapi.json";

/** Checks responses against an OpenAPI document. */
export class Conformance {
  readonly #document: OpenApiDocument;
  readonly #templates: readonly { readonly path: string; readonly pattern: RegExp }[];
  readonly #ajv: Ajv2020;
  readonly #anyError: ValidateFunction;

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true });
    this.#ajv.addSchema({ $id: DOCUMENT_ID, ...document });
    this.#anyError = this.#ajv.compile(ANY_ERROR);
    this.#templates = Object.keys(document.paths)
      // Literal segments take precedence over parameters.
      .toSorted((a, b) => a.split("{").length - b.split("{").length)
      .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`) }));
  }

  /** Problems of a response; empty if it matches the document. */
  problems(exchange: Exchange): string[] {
    const path = this.#template(exchange.url);
    if (path === undefined) return this.#checkUndocumented(exchange);
    const operation = this.#document.paths[path]?.[exchange.method.toLowerCase()];
    if (!operation) return this.#checkMethod(exchange);
    const response = operation.responses[exchange.status];
    if (!response) return [`the document has no response ${exchange.status} for it`];
    return this.#checkBody(exchange, `paths/${path}/${exchange.method.toLowerCase()}`, response.content ?? {});
  }

  /** Whether a value matches the schema at a JSON pointer into the document. */
  fits(pointer: string, value: unknown): boolean {
    const reference = pointer.split("/").map((part) => encodeURIComponent(part));
    return this.#ajv.getSchema(`${DOCUMENT_ID}#${reference.join("/")}`)?.(value) === true;
  }

  #template(url: string): string | undefined {
    const path = url.split("?")[0] ?? "";
    return this.#templates.find(({ pattern }) => pattern.test(path))?.path;
  }

  #checkMethod({ method, status, allow, body }: Exchange): string[] {
    // The response to HEAD is that to GET without the body.
    if (method === "HEAD") return body === "" ? [] : ["the response to HEAD has a body"];
    if (status === 405) return allow === undefined ? ["405 without Allow"] : this.#checkError(body);
    // Refused before the method is checked: the request line or the headers are invalid.
    return status >= 400 ? this.#checkError(body) : [`${status} for a method that is not in the document`];
  }

  #checkUndocumented({ url, method, status, body }: Exchange): string[] {
    if (/^\/(openapi\.json|docs)/.test(url) && status < 400) return [];
    if (status < 400) return [`${status} at an address that is not in the document`];
    return method === "HEAD" ? [] : this.#checkError(body);
  }

  #checkBody(exchange: Exchange, pointer: string, content: Readonly<Record<string, Media>>): string[] {
    const { status, contentType, body } = exchange;
    const types = Object.keys(content);
    if (types.length === 0) return body === "" ? [] : ["has a body where the document has none"];
    const type = contentType?.split(";")[0]?.trim() ?? "(none)";
    if (!types.includes(type)) return [`is ${type}, the document has ${types.join(" or ")}`];
    const [prefix, template, method] = split(pointer);
    const reference = [prefix, template, method, "responses", String(status), "content", type, "schema"];
    const validate = this.#ajv.getSchema(`${DOCUMENT_ID}#/${reference.map(escapePointer).join("/")}`);
    if (!validate) return [`the document has no schema for ${type}`];
    if (type === "text/plain") return [];
    const values = type === "text/event-stream" ? eventsOf(body) : type.endsWith("ndjson") ? linesOf(body) : [body];
    return values.flatMap((value) => this.#validate(validate as ValidateFunction, value));
  }

  #checkError(body: string): string[] {
    return this.#validate(this.#anyError, body);
  }

  #validate(validate: ValidateFunction, json: string): string[] {
    let value: unknown;
    try {
      value = JSON.parse(json);
    } catch {
      return [`is not JSON: ${json.slice(0, 200)}`];
    }
    return validate(value) ? [] : [`${this.#ajv.errorsText(validate.errors)}: ${json.slice(0, 500)}`];
  }
}

function split(pointer: string): [string, string, string] {
  const first = pointer.indexOf("/");
  const last = pointer.lastIndexOf("/");
  return [pointer.slice(0, first), pointer.slice(first + 1, last), pointer.slice(last + 1)];
}

/** Escapes a key for a JSON pointer in a URI fragment. */
function escapePointer(key: string): string {
  return encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** Complete lines that are not empty. */
function linesOf(body: string): string[] {
  const lines = body.slice(0, body.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line !== "");
}

/** The JSON of every complete event. Malformed lines are returned unchanged and fail to parse. */
function eventsOf(body: string): string[] {
  const lines = linesOf(body).filter((line) => !/^id: \d+$/.test(line));
  return lines.map((line) => (line.startsWith("data:") ? line.slice(5) : line));
}
