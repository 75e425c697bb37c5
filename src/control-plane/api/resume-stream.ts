import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { integerString } from "../../protocol/values/scalars.ts";

/*
 * How a client goes on with a stream that was interrupted: by the query parameter `after`, or, if it is a standard client of
 * event streams such as a browser's `EventSource`, by the header `Last-Event-ID`, which it sends by itself.
 */

/** The headers of a stream that can be resumed. @param max highest number of an event */
export function lastEventIdHeaders(max: number) {
  return z.looseObject({
    "last-event-id": integerString(0, max).optional().meta({
      description:
        "`id` of the last event received, as standard clients of event streams send it. It takes precedence over `after`.",
    }),
  });
}

/** Hook: some clients send the header without a value while they have received no id. */
export async function ignoreEmptyEventId({ headers }: FastifyRequest): Promise<void> {
  if (headers["last-event-id"] === "") delete headers["last-event-id"];
}

/** Returns the number of the last event that the client has. @param after the query parameter */
export function resumedAfter<After extends number | undefined>(
  { headers }: FastifyRequest,
  after: After,
): After | number {
  const last = headers["last-event-id"];
  return last === undefined ? after : Number(last);
}

/** Response to a client that has every event of a stream that has ended. Standard clients do not connect again then. */
export const NO_MORE_EVENTS = z
  .undefined()
  .meta({ description: "The stream has ended, and the client has all of it: there is nothing to connect again for." });
