import { openStream } from "./event-stream.ts";

/** An event of a stream, by the rules of the WHATWG's HTML standard, section 9.2. */
export interface ServerSentEvent {
  readonly data: string;
  readonly lastEventId: string;
}

/** Parses a whole stream. An event that is not followed by a blank line is discarded. */
export function parseEventStream(text: string, lastEventId = ""): ServerSentEvent[] {
  const events: ServerSentEvent[] = [];
  let [data, id] = ["", lastEventId];
  for (const line of text.replaceAll(/\r\n?/g, "\n").split("\n").slice(0, -1)) {
    if (line === "") {
      if (data !== "") events.push({ data: data.slice(0, -1), lastEventId: id });
      data = "";
      continue;
    }
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "data") data += `${value}\n`;
    if (field === "id" && !value.includes("\0")) id = value;
  }
  return events;
}

export interface StandardClient {
  readonly url: string;
  readonly apiKey: string;
  /** Breaks each connection once so many events have arrived. */
  readonly breakAfter?: number;
  readonly maxConnections?: number;
}

/**
 * Reads a stream as standard clients do: connects again whenever a connection has ended, with the id of the last event, until a
 * response has the status 204. Returns the events and the number of connections.
 */
export async function readAsStandardClient({
  url,
  apiKey,
  breakAfter = Infinity,
  maxConnections = 100,
}: StandardClient) {
  const events: ServerSentEvent[] = [];
  for (let connections = 1; connections <= maxConnections; connections++) {
    const lastEventId = events.at(-1)?.lastEventId ?? "";
    const headers = {
      Accept: "text/event-stream",
      "Cache-Control": "no-store",
      ...(lastEventId !== "" && { "Last-Event-ID": lastEventId }),
    };
    using stream = await openStream(url, { apiKey, headers });
    if (stream.status === 204) return { events, connections };
    if (stream.status !== 200) throw new Error(`status ${stream.status}: ${stream.text}`);
    const hasEnough = () => parseEventStream(stream.text).length >= breakAfter;
    await Promise.race([
      stream.ended,
      ...(breakAfter === Infinity ? [] : [stream.until("events", hasEnough).catch(() => undefined)]),
    ]);
    const arrived = parseEventStream(stream.text, lastEventId);
    events.push(...arrived.slice(0, breakAfter));
  }
  return { events, connections: maxConnections };
}
