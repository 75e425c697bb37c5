import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { type ErrorCode, type ErrorEntry, ERRORS } from "../../../src/protocol/errors/errors.ts";
import { closeSchemas } from "./close-schemas.ts";

/** A request and the server's response to it. */
export interface Exchange {
  readonly method: string;
  /** Path and query as requested. */
  readonly url: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly allow: string | undefined;
  /** Headers of the response, by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly body: string;
  /** Body of the request, as far as the server has read it. */
  readonly sent: string;
}

interface Media {
  readonly schema?: unknown;
  /** Of a refusal: by error code. */
  readonly examples?: Readonly<Record<string, unknown>>;
}
interface Parameter {
  readonly in: string;
  readonly name: string;
  readonly schema: { readonly type?: string };
}
interface Response {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, Response>>;
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

/** Statuses of `BadRequest`: the others are those of the HTTP parser. */
const BAD_REQUESTS: ReadonlySet<number> = new Set([400, 408, 417, 431]);

/**
 * Headers of responses that the document does not list: those of HTTP itself, of every response (see its description), and of
 * browsers. Any other one means something to a client.
 */
const GENERAL_HEADERS =
  /^(?:content-(?:type|length)|date|connection|keep-alive|transfer-encoding|cache-control|vary|x-(?:request-id|content-type-options|accel-buffering)|ratelimit-(?:limit|remaining|reset)|idempotent-replayed|set-cookie|access-control-.+|content-security-policy|referrer-policy|cross-origin-.+|strict-transport-security)$/;

/** Headers of requests that mean something to the API. */
const MEANINGFUL_HEADERS = ["if-match", "if-none-match", "if-unmodified-since", "idempotency-key", "last-event-id"];

/** What a refusal with such a status must have. */
const REFUSAL_HEADERS: Readonly<Record<number, string>> = {
  401: "www-authenticate",
  405: "allow",
  429: "retry-after",
  503: "retry-after",
};

/** Takes any parameter: those of OpenID Connect and its extensions. */
const ANY_QUERY = "/v1/oidc/callback";

const DOCUMENT_ID = "https://edge-control.invalid/openapi.json";

/** Checks responses, and requests that were carried out, against an OpenAPI document as `readDocument` returns it. */
export class Conformance {
  readonly #document: OpenApiDocument;
  readonly #templates: readonly { readonly path: string; readonly pattern: RegExp }[];
  readonly #ajv: Ajv2020;
  readonly #anyError: ValidateFunction;

  constructor(document: OpenApiDocument) {
    this.#document = document;
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false, validateSchema: false });
    this.#ajv.addSchema({ $id: DOCUMENT_ID, ...closeSchemas(document) });
    this.#anyError = this.#ajv.compile(ANY_ERROR);
    this.#templates = Object.keys(document.paths)
      // Literal segments take precedence over parameters.
      .toSorted((a, b) => a.split("{").length - b.split("{").length)
      .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`) }));
  }

  /** Problems of a response; empty if it matches the document. */
  problems(exchange: Exchange): string[] {
    const { status, headers } = exchange;
    const needed = ["x-request-id", ...(status in REFUSAL_HEADERS ? [REFUSAL_HEADERS[status] ?? ""] : [])];
    const missing = needed.filter((name) => !(name in headers)).map((name) => `${status} without ${name}`);
    return [...missing, ...this.#problems(exchange)];
  }

  #problems(exchange: Exchange): string[] {
    const path = this.#template(exchange.url);
    if (path === undefined) return this.#checkUndocumented(exchange);
    const operation = this.#document.paths[path]?.[exchange.method.toLowerCase()];
    if (!operation) return this.#checkMethod(exchange);
    // Successes are listed: `default` would stand for them, too.
    const isGeneral = exchange.status >= 400 && !(exchange.status in operation.responses);
    const key = isGeneral ? "default" : String(exchange.status);
    const response = operation.responses[key];
    if (!response) return [`the document has no response ${exchange.status} for it`];
    const pointer = `paths/${path}/${exchange.method.toLowerCase()}`;
    const problems = [
      ...this.#checkHeaders(exchange, path, key, response),
      ...this.#checkBody(exchange, pointer, key, response.content ?? {}),
    ];
    return exchange.status < 300 ? [...problems, ...this.#checkRequest(exchange, path, operation)] : problems;
  }

  /** A response has the headers that the document lists, or fewer, with values of their schemas. */
  #checkHeaders(
    { method, status, headers }: Exchange,
    path: string,
    key: string,
    { headers: documented = {} }: Response,
  ): string[] {
    const names = Object.keys(documented);
    const listed = this.#document.paths[path]?.[method.toLowerCase()]?.responses ?? {};
    // What tells of it in the other responses.
    const hasTag = "304" in listed || "412" in listed;
    return Object.entries(headers).flatMap(([name, value]) => {
      const found = names.find((each) => each.toLowerCase() === name);
      if (found === undefined)
        return GENERAL_HEADERS.test(name) || (name === "etag" && hasTag)
          ? []
          : [`the document has no header ${name} of a response ${status}`];
      const keys = ["paths", path, method.toLowerCase(), "responses", key, "headers", found, "schema"];
      const validate = this.#ajv.getSchema(`${DOCUMENT_ID}#/${keys.map(escapePointer).join("/")}`);
      const { schema } = documented[found] as Pick<Parameter, "schema">;
      return validate?.(valueOf({ schema }, value)) ? [] : [`the document does not allow ${found}: ${value}`];
    });
  }

  /** A request that was carried out has nothing that the document does not have. */
  #checkRequest(exchange: Exchange, path: string, operation: Operation): string[] {
    const { method, url, sent, requestHeaders } = exchange;
    const { parameters = [], requestBody } = operation;
    const at = (...keys: string[]): string =>
      ["paths", path, method.toLowerCase(), ...keys].map(escapePointer).join("/");
    const check = (place: string, name: string, text: string): string[] => {
      const index = parameters.findIndex((each) => each.in === place && each.name.toLowerCase() === name.toLowerCase());
      const parameter = parameters[index];
      if (!parameter) return [`the document has no parameter ${name} (${place})`];
      const validate = this.#ajv.getSchema(`${DOCUMENT_ID}#/${at("parameters", String(index), "schema")}`);
      return validate?.(valueOf(parameter, text)) ? [] : [`the document does not allow ${name}=${text} (${place})`];
    };
    const [address = "", search] = url.split("?");
    const values = address.split("/");
    const query = [
      ...path.split("/").flatMap((part, index) => {
        const name = /^\{(.+)\}$/.exec(part)?.[1];
        return name === undefined ? [] : check("path", name, decodeURIComponent(values[index] ?? ""));
      }),
      ...[...new URLSearchParams(search)].flatMap(([name, text]) =>
        path === ANY_QUERY ? [] : check("query", name, text),
      ),
      ...MEANINGFUL_HEADERS.filter((name) => name in requestHeaders).flatMap((name) =>
        // A read ignores what it does not know.
        method === "GET" && !this.#hasHeader(parameters, name) ? [] : check("header", name, requestHeaders[name] ?? ""),
      ),
    ];
    if (sent === "" || requestBody === undefined) return query;
    const validate = this.#ajv.getSchema(
      `${DOCUMENT_ID}#/${at("requestBody", "content", "application/json", "schema")}`,
    );
    if (!validate) return [...query, "the document has no schema of a JSON body"];
    return [...query, ...this.#validate(validate as ValidateFunction, sent).map((each) => `request: ${each}`)];
  }

  #hasHeader(parameters: readonly Parameter[], name: string): boolean {
    return parameters.some((each) => each.in === "header" && each.name.toLowerCase() === name);
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
    // A preflight of a page whose origin is allowed.
    if (method === "OPTIONS" && status === 204) return body === "" ? [] : ["the response to a preflight has a body"];
    if (status === 405) return allow === undefined ? ["405 without Allow"] : this.#checkError(body);
    // Refused before the method is checked: the request line or the headers are invalid.
    return status >= 400 ? this.#checkError(body) : [`${status} for a method that is not in the document`];
  }

  #checkUndocumented({ url, method, status, body }: Exchange): string[] {
    if (/^\/(openapi\.json|docs)/.test(url) && status < 400) return [];
    // The protocol of registries has a specification and errors of its own.
    if (/^\/v2\/(?:$|(?:edge-agent|uploads)\/)/.test(url) && status !== 405) return [];
    if (status < 400) return [`${status} at an address that is not in the document`];
    return method === "HEAD" ? [] : this.#checkError(body);
  }

  #checkBody(exchange: Exchange, pointer: string, key: string, content: Readonly<Record<string, Media>>): string[] {
    const { status, contentType, body } = exchange;
    const types = Object.keys(content);
    if (types.length === 0) return body === "" ? [] : ["has a body where the document has none"];
    const type = contentType?.split(";")[0]?.trim() ?? "(none)";
    if (!types.includes(type)) return [`is ${type}, the document has ${types.join(" or ")}`];
    const [prefix, template, method] = split(pointer);
    const reference = [prefix, template, method, "responses", key, "content", type, "schema"];
    const validate = this.#ajv.getSchema(`${DOCUMENT_ID}#/${reference.map(escapePointer).join("/")}`);
    if (!validate) return [`the document has no schema for ${type}`];
    if (type === "text/plain" || type === "text/csv") return [];
    const values = type === "text/event-stream" ? eventsOf(body) : type.endsWith("ndjson") ? linesOf(body) : [body];
    const problems = values.flatMap((value) => this.#validate(validate as ValidateFunction, value));
    if (problems.length > 0 || status < 400) return problems;
    const codes = values.map((each) => (JSON.parse(each) as { readonly code?: string }).code ?? "(none)");
    const general = this.#document.paths[template]?.[method]?.responses["default"]?.content;
    return [...checkCodes(codes, { ...examplesOf(general), ...examplesOf(content) }), ...checkStatus(codes, status)];
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

/** Examples of any form of a response: each code of a refusal is one of them. */
function examplesOf(content: Readonly<Record<string, Media>> = {}): Media["examples"] {
  return Object.assign({}, ...Object.values(content).map(({ examples }) => examples)) as Media["examples"];
}

function checkCodes(codes: readonly string[], examples: Media["examples"] = {}): string[] {
  return codes.filter((code) => !(code in examples)).map((code) => `the document does not have the code ${code} here`);
}

/** Several statuses share the response `default`: each has codes of its own. */
function checkStatus(codes: readonly string[], status: number): string[] {
  const fits = (code: string): boolean => {
    if (code === "BadRequest") return BAD_REQUESTS.has(status);
    const entry = ERRORS[code as ErrorCode] as ErrorEntry | undefined;
    return (entry?.http ?? 500) === status;
  };
  return codes.filter((code) => !fits(code)).map((code) => `the code ${code} has another status than ${status}`);
}

/** A parameter's value as its schema sees it. */
function valueOf({ schema }: Pick<Parameter, "schema">, text: string): unknown {
  if (schema.type === "integer") return Number(text);
  return schema.type === "boolean" ? text === "true" : text;
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
