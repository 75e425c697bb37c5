import type { Clock } from "../../lib/clock.ts";
import { IdleTimeout } from "./idle-timeout.ts";
import type { ApiClient, ApiRequest } from "./client.ts";
import { parseStreamedEvent, type StreamedEvent } from "./deployment-event.ts";
import { EventLineReader, StreamFormatError } from "./event-lines.ts";
import { NetworkFailure } from "./network-failure.ts";
import { toServiceFailure } from "./service-failure.ts";

/** A stream whose headers have come. Dispose it to let go of the connection. */
export interface EventStream extends Disposable {
  /** From the response's headers. */
  readonly deploymentId: string | undefined;
  /** Ends when the server ends it; throws a `NetworkFailure` when the connection breaks or falls silent. */
  readonly events: AsyncIterable<StreamedEvent>;
}

/**
 * Opens a stream of deployment events. Errors: `ServiceFailure` where the answer is an error outside the stream,
 * `NetworkFailure` where there is none.
 */
export async function openEventStream(
  client: ApiClient,
  request: ApiRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<EventStream> {
  const connection = new IdleTimeout(clock, signal);
  try {
    connection.touch();
    const response = await client.send(request, connection.signal);
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream")) throw toServiceFailure(response, await client.text(response));
    return {
      deploymentId: response.headers.get("deployment-id") ?? undefined,
      events: readEvents(client, response, connection),
      [Symbol.dispose]: () => connection[Symbol.dispose](),
    };
  } catch (error) {
    connection[Symbol.dispose]();
    throw error;
  }
}

async function* readEvents(
  client: ApiClient,
  response: Response,
  connection: IdleTimeout,
): AsyncGenerator<StreamedEvent> {
  const reader = new EventLineReader();
  const body = response.body ?? [];
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      connection.touch();
      for (const json of reader.push(chunk)) yield parseStreamedEvent(json);
    }
  } catch (error) {
    if (error instanceof StreamFormatError) throw toGrammarFailure(client, error);
    throw client.toFailure(error);
  }
  const last = reader.end();
  // A last line without its end was most likely cut off: it counts only if it is whole.
  const event = last === undefined ? undefined : tryParse(last);
  if (event) yield event;
}

function tryParse(json: string): StreamedEvent | undefined {
  try {
    return parseStreamedEvent(json);
  } catch {
    return undefined;
  }
}

function toGrammarFailure(client: ApiClient, error: StreamFormatError): NetworkFailure {
  return new NetworkFailure(client.baseUrl, error.message, {
    hint: "Check whether a proxy on the way changes what the service sends.",
    maybeSent: true,
    cause: error,
  });
}
