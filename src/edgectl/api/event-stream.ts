import type { Clock } from "../../lib/clock.ts";
import type { ApiClient, ApiRequest } from "./client.ts";
import { parseStreamedEvent, type StreamedEvent } from "./deployment-event.ts";
import { type Line, openLines, StreamFormatError, toFormatFailure } from "./line-stream.ts";

const DATA_PREFIX = "data:";

/** A stream of deployment events whose headers have arrived. Dispose it to close the connection. */
export interface EventStream extends Disposable {
  /** From the response's headers. */
  readonly deploymentId: string | undefined;
  /** Ends when the server ends it; throws a `NetworkFailure` when the connection breaks or is silent for too long. */
  readonly events: AsyncIterable<StreamedEvent>;
}

/**
 * Opens a stream of deployment events. Errors: `ServiceFailure` for a response that is not a stream, `NetworkFailure`
 * without a response.
 */
export async function openEventStream(
  client: ApiClient,
  request: ApiRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<EventStream> {
  // A refusal is an event in a stream with an error status.
  const options = { clock, signal, contentType: "text/event-stream", allowsErrorStatus: true };
  const stream = await openLines(client, request, options);
  return {
    deploymentId: stream.headers.get("deployment-id") ?? undefined,
    events: readEvents(client, stream.lines),
    [Symbol.dispose]: () => stream[Symbol.dispose](),
  };
}

async function* readEvents(client: ApiClient, lines: AsyncIterable<Line>): AsyncGenerator<StreamedEvent> {
  for await (const { text, isTerminated } of lines) {
    const json = eventData(text);
    const event = json === undefined ? undefined : parseEvent(client, json, isTerminated);
    if (event) yield event;
  }
}

function parseEvent(client: ApiClient, json: string, isTerminated: boolean): StreamedEvent | undefined {
  try {
    return parseStreamedEvent(json);
  } catch (error) {
    // An unterminated line was most likely truncated: it counts only if it is complete.
    if (!isTerminated) return undefined;
    throw error instanceof StreamFormatError ? toFormatFailure(client, error) : error;
  }
}

/** Returns the JSON text of a `data:` line. Other lines of the event-stream format are ignored: `undefined`. */
export function eventData(line: string): string | undefined {
  if (!line.startsWith(DATA_PREFIX)) return undefined;
  const data = line.slice(DATA_PREFIX.length).trim();
  return data === "" ? undefined : data;
}
