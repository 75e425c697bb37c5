import type { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import type { ApiClient } from "./client.ts";
import { NetworkFailure } from "./network-failure.ts";
import type { ApiRequest, Fits } from "./request.ts";
import { toServiceFailure } from "./service-failure.ts";

/** The service sends at least an empty line every 15 s. After three missed lines the connection counts as dead. */
export const MAX_SILENCE_MS = 45_000;

/** Aborts a request when the parent signal aborts, when disposed, and when nothing arrives for `MAX_SILENCE_MS`. */
class IdleTimeout implements Disposable {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly signal: AbortSignal;
  #watchdog: Disposable | undefined;

  constructor(clock: Clock, parent: AbortSignal) {
    this.#clock = clock;
    this.signal = AbortSignal.any([parent, this.#controller.signal]);
  }

  /** Restarts the timeout. Must be called when data arrives, and once at the start. */
  touch(): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#watchdog = this.#clock.timer(MAX_SILENCE_MS, () => {
      this.#controller.abort(new DOMException("nothing arrived in time", "TimeoutError"));
    });
  }

  [Symbol.dispose](): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#controller.abort();
  }
}

/** In UTF-16 code units. No event and no log line of the service is longer. */
const MAX_LINE_LENGTH = 1024 * 1024;

/** The response is not a stream of the expected format. */
export class StreamFormatError extends Error {
  override readonly name = "StreamFormatError";
}

/** A streamed response whose headers have arrived. Dispose it to close the connection. */
interface LineStream extends Disposable {
  readonly headers: Headers;
  /**
   * Lines with their line breaks removed. Throws a `NetworkFailure` when the connection breaks or nothing arrives for
   * `MAX_SILENCE_MS`.
   */
  readonly lines: AsyncIterable<Line>;
}

export interface Line {
  readonly text: string;
  /** False for text after the last line break, which may be truncated. */
  readonly isTerminated: boolean;
}

interface StreamOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Media type of the stream. A response of any other type is a `ServiceFailure`. */
  readonly contentType: string;
  /** Whether a stream may have an HTTP error status. */
  readonly allowsErrorStatus?: boolean;
}

/** Sends a request whose response is a stream of lines. Errors: `ServiceFailure` or `NetworkFailure`. */
export async function openLines(client: ApiClient, request: ApiRequest, options: StreamOptions): Promise<LineStream> {
  const connection = new IdleTimeout(options.clock, options.signal);
  try {
    connection.touch();
    const response = await client.send(request, connection.signal);
    const hasType = response.headers.get("content-type")?.startsWith(options.contentType) === true;
    // Without content: the stream has ended, and the client has all of it.
    const isStream = response.status === 204 || (hasType && (response.ok || options.allowsErrorStatus === true));
    if (!isStream) throw toServiceFailure(response, await client.text(response));
    return {
      headers: response.headers,
      lines: readLines(client, response, connection),
      [Symbol.dispose]: () => connection[Symbol.dispose](),
    };
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
}

/** A stream of JSON messages. */
interface MessageOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly contentType: "text/event-stream" | "application/x-ndjson";
  /** What is thrown for a message that the schema refuses; a `NetworkFailure` if not given. */
  readonly refuse?: () => Error;
  /** Called when the service has answered, however long the first message takes. */
  readonly onOpen?: (() => void) | undefined;
}

/**
 * Yields the messages of a stream until it ends. Errors: `ServiceFailure` when the request is refused, `NetworkFailure` when the
 * connection breaks, or for a message that the schema refuses.
 */
export async function* readMessages<Message, Schema extends z.ZodType>(
  client: ApiClient,
  request: ApiRequest<unknown, Message>,
  schema: Schema & Fits<Schema, Message>,
  { contentType, refuse, onOpen, ...options }: MessageOptions,
): AsyncGenerator<z.output<Schema>> {
  using stream = await openLines(client, request, { ...options, contentType });
  onOpen?.();
  for await (const line of stream.lines) {
    const json = contentType === "text/event-stream" ? completeEventData(line) : line.text.trim();
    // Empty lines keep the connection alive.
    if (json === undefined || json === "") continue;
    const result = schema.safeParse(parseJson(json, "response"));
    if (!result.success) throw refuse?.() ?? unknownEvent(client);
    yield result.data;
  }
}

function completeEventData({ text, isTerminated }: Line): string | undefined {
  return isTerminated ? eventData(text) : undefined;
}

function unknownEvent(client: ApiClient): NetworkFailure {
  return toFormatFailure(client, new StreamFormatError("an event is not one of this service"));
}

/** The failure for a response with the wrong format. */
export function toFormatFailure(client: ApiClient, error: StreamFormatError): NetworkFailure {
  return new NetworkFailure(client.baseUrl, error.message, {
    hint: "Check whether a proxy on the way changes what the service sends.",
    maybeSent: true,
    cause: error,
  });
}

async function* readLines(client: ApiClient, response: Response, connection: IdleTimeout): AsyncGenerator<Line> {
  const splitter = new LineSplitter();
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      connection.touch();
      for (const text of splitter.push(chunk)) yield { text, isTerminated: true };
    }
  } catch (error) {
    if (error instanceof StreamFormatError) throw toFormatFailure(client, error);
    throw client.toFailure(error);
  }
  const rest = splitter.end();
  if (rest !== "") yield { text: rest, isTerminated: false };
}

/** Splits UTF-8 text into lines. Chunks may end anywhere, also within a character. */
export class LineSplitter {
  readonly #decoder = new TextDecoder();
  #rest = "";

  /** Returns the lines that the chunk completes. Throws a `StreamFormatError` when a line is too long. */
  push(chunk: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > MAX_LINE_LENGTH) throw new StreamFormatError("a line of the stream is too long");
    return lines;
  }

  /** Returns the text after the last line break. Must be called once, after the last chunk. */
  end(): string {
    return this.#rest + this.#decoder.decode();
  }
}

const DATA_PREFIX = "data:";

/** Returns the JSON text of a `data:` line. Other lines of the event-stream format are ignored: `undefined`. */
export function eventData(line: string): string | undefined {
  if (!line.startsWith(DATA_PREFIX)) return undefined;
  const data = line.slice(DATA_PREFIX.length).trim();
  return data === "" ? undefined : data;
}
