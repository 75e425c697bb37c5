import { request as httpRequest, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { parseJson } from "../../lib/parse-json.ts";
import { VERSION } from "../../lib/version.ts";
import { API, VERSION_HEADER } from "./api-path.ts";
import type { LocalResponses } from "./api.ts";
import { LocalError } from "./local-error.ts";
import { FULL_ACCESS_GROUP, READ_ONLY_GROUP } from "../config/socket-path.ts";

/** Nobody listens on the agent's socket, or this user may not use it. */
export class DaemonUnavailableError extends Error {
  readonly reason: "down" | "forbidden";

  constructor(reason: "down" | "forbidden", message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DaemonUnavailableError";
    this.reason = reason;
  }
}

/** The response is not one of the local API: invalid JSON, or it does not match the schema. */
class BadResponseError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "BadResponseError";
  }
}

type Method = "GET" | "POST";

interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Speaks to the daemon, where this user may not use its socket through the one for reading. Errors: `DaemonUnavailableError`, `LocalError`, `BadResponseError`. */
export class LocalClient {
  readonly #path: string;
  readonly #readOnlyPath: string | undefined;

  /** @param readSocketPath where to ask whom the other socket is closed to */
  constructor(socketPath: string, readSocketPath?: string) {
    this.#path = socketPath;
    this.#readOnlyPath = readSocketPath;
  }

  get socketPath(): string {
    return this.#path;
  }

  async request<Kind extends keyof LocalResponses>(
    method: Method,
    path: string,
    kind: Kind,
    options: CallOptions = {},
  ): Promise<LocalResponses[Kind]> {
    const response = await this.#send(method, path, options);
    const read = await readerOf(kind, response);
    return read(await text(response));
  }

  /** The values of a stream as they come. Throws when it breaks off with an error. */
  async *stream<Kind extends keyof LocalResponses>(
    method: Method,
    path: string,
    kind: Kind,
    options: CallOptions = {},
  ): AsyncGenerator<LocalResponses[Kind]> {
    const response = await this.#send(method, path, options);
    const read = await readerOf(kind, response);
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      if (line !== "") yield read(line);
    }
    if (!response.complete && options.signal?.aborted !== true) {
      throw new LocalError(503, "ServiceUnavailable", "The agent broke off: it was stopped or restarted.");
    }
  }

  async #send(method: Method, path: string, options: CallOptions): Promise<IncomingMessage> {
    const response = await this.#call(this.#path, method, path, options).catch((error: unknown) => {
      if (this.#readOnlyPath === undefined || !isForbidden(error)) throw error;
      // Where this fails too, the first failure is the one to tell of.
      return this.#call(this.#readOnlyPath, method, path, options).catch((second: unknown) => {
        throw second instanceof DaemonUnavailableError ? error : second;
      });
    });
    // What breaks off later shows as an incomplete answer.
    response.on("error", () => undefined);
    if (response.statusCode === 200) return response;
    throw toLocalError(await text(response), response.statusCode ?? 0);
  }

  #call(socketPath: string, method: Method, path: string, { body, signal }: CallOptions): Promise<IncomingMessage> {
    return new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { Host: "agent" };
      const call = httpRequest(
        { socketPath, method, path: API + path, headers, ...NO_LOOKUP, ...(signal && { signal }) },
        resolve,
      );
      call.on("error", (error) => reject(toUnavailableError(error, socketPath)));
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof DaemonUnavailableError && error.reason === "forbidden";
}

/** A person waits: without names Node.js takes "localhost" and looks whether that is an address, which takes it 5 ms. */
const NO_LOOKUP = { agent: false, servername: "" } as const;

/**
 * How to read the answers of whoever responded. A daemon of this very version answers as its types say; one that was
 * not restarted since an upgrade may answer as an older one did.
 */
async function readerOf<Kind extends keyof LocalResponses>(
  kind: Kind,
  { headers }: IncomingMessage,
): Promise<(answer: string) => LocalResponses[Kind]> {
  if (headers[VERSION_HEADER] === VERSION) return (answer) => parse(answer) as LocalResponses[Kind];
  const { responseSchemas } = await import("./api.ts");
  const schema = responseSchemas[kind];
  return (answer) => {
    const result = schema.safeParse(parse(answer));
    if (result.success) return result.data as LocalResponses[Kind];
    throw new BadResponseError("The agent's answer is of another version than this command.");
  };
}

/** Throws where the answer is an error: one can also end what began well. */
function parse(answer: string): unknown {
  const value = parseJson(answer);
  if (value === undefined) {
    throw new BadResponseError("The agent gave an answer that is not JSON: is another program at its socket?");
  }
  const error = errorIn(value);
  if (error) throw new LocalError(500, error.code, error.message);
  return value;
}

function toLocalError(answer: string, status: number): LocalError {
  const error = errorIn(parseJson(answer));
  return error
    ? new LocalError(status, error.code, error.message)
    : new LocalError(status, "BadAnswer", `The agent answered with HTTP ${status}.`);
}

function errorIn(value: unknown): { readonly code: string; readonly message: string } | undefined {
  const error = memberOf(value, "error");
  const [code, message] = [memberOf(error, "code"), memberOf(error, "message")];
  return typeof code === "string" && typeof message === "string" ? { code, message } : undefined;
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function toUnavailableError(error: NodeJS.ErrnoException, path: string): Error {
  if (error.code === "EACCES" || error.code === "EPERM") {
    return new DaemonUnavailableError(
      "forbidden",
      `no permission to use ${path}: be root, or a member of the group ${FULL_ACCESS_GROUP}, or for reading only of ${READ_ONLY_GROUP}`,
      {
        cause: error,
      },
    );
  }
  if (error.code === "ENOENT" || error.code === "ECONNREFUSED" || error.code === "ENOTSOCK") {
    return new DaemonUnavailableError("down", `the agent is not running: nothing listens on ${path}`, { cause: error });
  }
  return error;
}
