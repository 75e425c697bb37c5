import { request as httpRequest, type IncomingMessage } from "node:http";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import type { z } from "zod";
import { API } from "./api-path.ts";
import { errorSchema } from "./api.ts";
import { LocalError } from "./local-error.ts";

/** Nobody listens on the agent's socket, or this user may not use it. */
export class DaemonDownError extends Error {
  readonly reason: "down" | "forbidden";

  constructor(reason: "down" | "forbidden", message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DaemonDownError";
    this.reason = reason;
  }
}

type Method = "GET" | "POST";

interface CallOptions {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Speaks to the daemon. Errors: `DaemonDownError`, `LocalError`. */
export class LocalClient {
  readonly #path: string;

  constructor(socketPath: string) {
    this.#path = socketPath;
  }

  get socketPath(): string {
    return this.#path;
  }

  async ask<T>(method: Method, path: string, schema: z.ZodType<T>, options: CallOptions = {}): Promise<T> {
    const response = await this.#send(method, path, options);
    return parse(schema, await text(response));
  }

  /** The values of a stream as they come. Throws when it breaks off with an error. */
  async *stream<T>(method: Method, path: string, schema: z.ZodType<T>, options: CallOptions = {}): AsyncGenerator<T> {
    const response = await this.#send(method, path, options);
    for await (const line of createInterface({ input: response, crlfDelay: Infinity })) {
      if (line !== "") yield parse(schema, line);
    }
    if (!response.complete && options.signal?.aborted !== true) {
      throw new LocalError(503, "ServiceUnavailable", "The agent broke off: it was stopped or restarted.");
    }
  }

  async #send(method: Method, path: string, { body, signal }: CallOptions): Promise<IncomingMessage> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      // Without a name Node.js takes "localhost" and looks whether that is an address, which takes it 5 ms.
      const headers = { Host: "agent" };
      const call = httpRequest(
        { socketPath: this.#path, method, path: API + path, headers, agent: false, ...(signal && { signal }) },
        resolve,
      );
      call.on("error", (error) => reject(toDown(error, this.#path)));
      call.end(body === undefined ? undefined : JSON.stringify(body));
    });
    // What breaks off later shows as an incomplete answer.
    response.on("error", () => undefined);
    if (response.statusCode === 200) return response;
    throw toLocalError(await text(response), response.statusCode ?? 0);
  }
}

function parse<T>(schema: z.ZodType<T>, answer: string): T {
  let value: unknown;
  try {
    value = JSON.parse(answer);
  } catch {
    throw new LocalError(
      0,
      "BadAnswer",
      "The agent gave an answer that is not JSON: is another program at its socket?",
    );
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const failure = errorSchema.safeParse(value);
  if (failure.success) throw new LocalError(500, failure.data.error.code, failure.data.error.message);
  throw new LocalError(0, "BadAnswer", "The agent's answer is of another version than this command.");
}

function toLocalError(answer: string, status: number): LocalError {
  try {
    const { error } = errorSchema.parse(JSON.parse(answer));
    return new LocalError(status, error.code, error.message);
  } catch {
    return new LocalError(status, "BadAnswer", `The agent answered with HTTP ${status}.`);
  }
}

function toDown(error: NodeJS.ErrnoException, path: string): Error {
  if (error.code === "EACCES" || error.code === "EPERM") {
    return new DaemonDownError(
      "forbidden",
      `no permission to use ${path}: be root, or a member of the group edge-agent`,
      {
        cause: error,
      },
    );
  }
  if (error.code === "ENOENT" || error.code === "ECONNREFUSED" || error.code === "ENOTSOCK") {
    return new DaemonDownError("down", `the agent is not running: nothing listens on ${path}`, { cause: error });
  }
  return error;
}
