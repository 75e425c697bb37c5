import { readFile } from "node:fs/promises";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

const FIXTURES = new URL("../../fixtures/sim-operators/", import.meta.url);
const ID = "https://operator.invalid/openapi.json";

interface Media {
  readonly schema?: unknown;
}
interface Parameter {
  readonly name: string;
  readonly in: "query" | "path" | "header";
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
  readonly body: string;
}

/** An operator's OpenAPI document, reduced to its structure: what requests and responses have to look like. */
export class Extract {
  readonly #document: Document;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: true, logger: false });
  readonly #responses = new Ajv2020({ strict: false, allErrors: true, logger: false });

  private constructor(document: Document) {
    this.#document = document;
    for (const ajv of [this.#ajv, this.#responses]) {
      for (const format of ["date-time", "date"]) ajv.addFormat(format, (text) => !Number.isNaN(Date.parse(text)));
      ajv.addFormat("uri", (text) => URL.canParse(text));
      ajv.addSchema({ $id: ID, ...document });
    }
  }

  /** @param edit of the parsed document, where the operator is known to behave otherwise */
  static async load(file: string, edit: (text: string) => string = (text) => text): Promise<Extract> {
    const text = edit(await readFile(new URL(file, FIXTURES), "utf8"));
    return new Extract(JSON.parse(text, asNullable) as Document);
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

  /** What is wrong with a request; empty if it fits. */
  requestProblems({ method, url, contentType, body }: ReceivedRequest): string[] {
    const template = this.templateOf(url.pathname);
    const operation = template === undefined ? undefined : this.#document.paths[template]?.[method.toLowerCase()];
    if (template === undefined || !operation) return [`there is no ${method} ${url.pathname}`];
    const problems: string[] = [];
    const known = new Map(operation.parameters?.map((parameter) => [parameter.name, parameter]));
    for (const [name, value] of url.searchParams) {
      const pointer = `/paths/${escape(template)}/${method.toLowerCase()}/parameters`;
      const index = operation.parameters?.findIndex((parameter) => parameter.name === name) ?? -1;
      if (!known.has(name)) problems.push(`unknown parameter ${name}`);
      else problems.push(...this.#check(this.#ajv, `${pointer}/${index}/schema`, { value }, "value"));
    }
    const media = contentType?.split(";")[0] ?? "";
    const content = operation.requestBody?.content;
    if (!content) return body === "" ? problems : [...problems, "a body where none is expected"];
    if (!content[media]) return [...problems, `a body of ${media || "no type"}`];
    const pointer = `/paths/${escape(template)}/${method.toLowerCase()}/requestBody/content/${escape(media)}/schema`;
    const value: unknown =
      media === "application/json" ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
    return [...problems, ...this.#check(this.#responses, pointer, { value }, "value")];
  }

  /** What is wrong with a response to this operation; empty if it fits. */
  responseProblems(method: string, template: string, status: number, body: unknown): string[] {
    const response = this.#document.paths[template]?.[method.toLowerCase()]?.responses[status];
    // Of errors the documents say little.
    if (!response) return status < 400 ? [`${method} ${template} does not answer ${status}`] : [];
    if (body === undefined || !response.content?.["application/json"]) return [];
    const pointer = `/paths/${escape(template)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    return this.#check(this.#responses, pointer, { value: body }, "value");
  }

  #check(ajv: Ajv2020, pointer: string, holder: { value: unknown }, name: string): string[] {
    const validate: ValidateFunction = ajv.compile({
      type: "object",
      properties: { [name]: { $ref: `${ID}#${encodeURI(pointer)}` } },
    });
    if (validate(holder)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  }
}

function escape(part: string): string {
  return part.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** OpenAPI 3.0 says `nullable` where JSON Schema has the type `null`. */
function asNullable(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("nullable" in value) || value.nullable !== true) return value;
  const { nullable: _nullable, ...schema } = value as Record<string, unknown>;
  return "type" in schema ? { ...schema, type: [schema["type"], "null"] } : schema;
}
