import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";
import { readMessages } from "./event-stream.ts";

/** An event of the account, or a note of the stream: `hello` or `reset`. Later releases may send other types. */
const accountEventSchema = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  timestamp: z.number().optional(),
});
export type AccountEvent = z.output<typeof accountEventSchema>;

/**
 * Opens the stream of the account's events and yields them until it ends. Errors: `ServiceFailure`, `NetworkFailure`.
 *
 * @param after id of the last event that is known; `undefined`: from now on
 */
export function accountEvents(
  client: ApiClient,
  after: string | undefined,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<AccountEvent> {
  const options = { clock, signal, contentType: "text/event-stream" } as const;
  return readMessages(client, requestOf("GET /v1/events", { query: { after } }), accountEventSchema, options);
}
