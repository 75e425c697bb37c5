import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { type ApiClient, apiPath } from "./client.ts";
import { eventData, openLines, StreamFormatError, toFormatFailure } from "./event-stream.ts";

/** An event of the account, or a note of the stream: `hello` or `reset`. Later releases may send other types. */
const accountEventSchema = z.looseObject({ type: z.string(), id: z.string().optional(), at_ms: z.number().optional() });
export type AccountEvent = z.output<typeof accountEventSchema>;

/**
 * Opens the stream of the account's events and yields them until it ends. Errors: `ServiceFailure`, `NetworkFailure`.
 *
 * @param after id of the last event that is known; `undefined`: from now on
 */
export async function* accountEvents(
  client: ApiClient,
  after: string | undefined,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<AccountEvent> {
  const request = { path: apiPath("v1", "events"), query: { after } };
  using stream = await openLines(client, request, { clock, signal, contentType: "text/event-stream" });
  for await (const { text, isTerminated } of stream.lines) {
    const json = isTerminated ? eventData(text) : undefined;
    if (json === undefined) continue;
    const result = accountEventSchema.safeParse(parseJson(json, "response"));
    if (!result.success) throw toFormatFailure(client, new StreamFormatError("an event is not one of this service"));
    yield result.data;
  }
}
