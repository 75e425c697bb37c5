import { request as httpRequest, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { parseJson } from "../../lib/parse-json.ts";
import { BodyTooLongError, readAll } from "../../lib/registry/read-body.ts";
import { VERSION } from "../../lib/version.ts";
import { JSON_LIMITS } from "../../protocol/values/bounded-json.ts";
import { API, VERSION_HEADER } from "./api-path.ts";
import type { LocalResponses } from "./api.ts";
import { LocalError } from "./local-error.ts";
import { FULL_ACCESS_GROUP, READ_ONLY_GROUP } from "../config/socket-path.ts";

/** `hung`: the agent has its socket open and responds to nothing. `forbidden`: this user may not use the socket. */
type UnavailableReason = "down" | "hung" | "forbidden";

/** The agent cannot be asked. */
export class DaemonUnavailableError extends Error {
  readonly reason: UnavailableReason;

  constructor(reason: UnavailableReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DaemonUnavailableError";
    this.reason = reason;
  }

  /** Whether it does not run, or runs and does not respond: then a command shows what is stored. */
  get isDown(): boolean {
    return this.reason !== "forbidden";
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

/** A response may take its time, such as that of an engine. After this time the agent is asked whether it lives. */
const PATIENCE_MS = 10_000;
/** Any response shows that it does, also that it does not know this path. */
const PROBE_PATH = "/alive";
const PROBE_TIMEOUT_MS = 5_000;

interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Client of the local API. Falls back to the read-only socket if this user may not use the other one. Errors:
 * `DaemonUnavailableError`, `LocalError`, `BadResponseError`.
 */
export class LocalClient {
  readonly #path: string;
  readonly #readOnlyPath: string | undefined;

  /** @param readOnlySocketPath used if this user has no permission for `socketPath` */
  constructor(socketPath: string, readOnlySocketPath?: string) {
    this.#path = socketPath;
    this.#readOnlyPath = readOnlySocketPath;
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
    return read(await textOf(response));
  }

  /** Yields the values of a stream. Throws if the stream breaks off or ends with an error. */
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
      // If both sockets are unavailable, the first error is reported.
      return this.#call(this.#readOnlyPath, method, path, options).catch((second: unknown) => {
        throw second instanceof DaemonUnavailableError ? error : second;
      });
    });
    // Later errors are detected as an incomplete response.
    response.on("error", () => undefined);
    if (response.statusCode === 200) return response;
    throw toLocalError(await textOf(response), response.statusCode ?? 0);
  }

  /** Resolves with the response's headers. Rejects if the agent hangs. */
  async #call(socketPath: string, method: Method, path: string, options: CallOptions): Promise<IncomingMessage> {
    const hung = new AbortController();
    let hasResponded = false;
    const signal = options.signal ? AbortSignal.any([options.signal, hung.signal]) : hung.signal;
    const watch = setInterval(() => {
      const probe = send(socketPath, "GET", PROBE_PATH, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
      probe.then(
        (response) => response.resume(),
        // The signal would end a response that has begun meanwhile.
        () => void (hasResponded || hung.abort()),
      );
    }, PATIENCE_MS);
    try {
      const response = await send(socketPath, method, path, { ...options, signal });
      hasResponded = true;
      return response;
    } catch (error) {
      if (!hung.signal.aborted) throw error;
      throw new DaemonUnavailableError("hung", `the agent hangs: it has ${socketPath} open and does not respond`);
    } finally {
      clearInterval(watch);
    }
  }
}

function send(
  socketPath: string,
  method: Method,
  path: string,
  { body, signal }: CallOptions,
): Promise<IncomingMessage> {
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

/** A response that is too long is none of the agent's: what comes back is no JSON then. */
async function textOf(response: IncomingMessage): Promise<string> {
  try {
    return (await readAll(response, JSON_LIMITS.response.maxBytes)).toString();
  } catch (error) {
    if (error instanceof BodyTooLongError) return "";
    throw error;
  }
}

function isForbidden(error: unknown): boolean {
  return error instanceof DaemonUnavailableError && error.reason === "forbidden";
}

/** Saves 5 ms: without a server name Node.js uses "localhost" and checks whether it is an address. */
const NO_LOOKUP = { agent: false, servername: "" } as const;

/**
 * Returns a parser of the response. A daemon of the same version is trusted to match the types; the response of another
 * version, such as one not restarted since an upgrade, is validated.
 */
async function readerOf<Kind extends keyof LocalResponses>(
  kind: Kind,
  { headers }: IncomingMessage,
): Promise<(body: string) => LocalResponses[Kind]> {
  if (headers[VERSION_HEADER] === VERSION) return (body) => parse(body) as LocalResponses[Kind];
  const { responseSchemas } = await import("./api.ts");
  const schema = responseSchemas[kind];
  return (body) => {
    const result = schema.safeParse(parse(body));
    if (result.success) return result.data as LocalResponses[Kind];
    throw new BadResponseError("The agent's answer is of another version than this command.");
  };
}

/** Parses a value. Throws if it is an error: a stream can end with one. */
function parse(body: string): unknown {
  const value = parseJson(body, "response");
  if (value === undefined) {
    throw new BadResponseError("The agent gave an answer that is not JSON: is another program at its socket?");
  }
  const error = errorIn(value);
  if (error) throw new LocalError(500, error.code, error.message);
  return value;
}

function toLocalError(body: string, status: number): LocalError {
  const error = errorIn(parseJson(body, "response"));
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
