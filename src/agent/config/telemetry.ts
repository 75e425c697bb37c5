import { z } from "zod";

/** What the device tells of itself, and what that may cost. Sizes in bytes. */
export const telemetry = z.strictObject({
  reports_max_per_hour: z.int().min(1).max(3600).default(12).meta({
    description:
      "Reports sent an hour of changes nobody asked for, such as an app that crashes over and over; beyond that they wait. What a deployment came to is told at once.",
  }),
  logs_max_bytes_per_s: z.int().min(1_024).max(100_000_000).default(32_768).meta({
    description:
      "Bytes a second sent of an app's log, for each request. What was written before waits for its turn; of what an app writes faster than that, the rest is left out and counted.",
  }),
  logs_max_bytes: z.int().min(1_024).default(4_194_304).meta({
    description: "Bytes sent of an app's log in all, for each request.",
  }),
});
