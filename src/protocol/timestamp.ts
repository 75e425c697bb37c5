import { z } from "zod";

/** End of the year 9999, in Unix seconds: the last instant every date format in use can write. */
export const MAX_UNIX_SECONDS = 253_402_300_799;

/** An instant on the wire: integer Unix seconds, UTC. */
export function unixSeconds(description: string) {
  return z
    .int()
    .min(0)
    .max(MAX_UNIX_SECONDS)
    .meta({ description: `${description} Unix seconds, UTC.` });
}
