import { z } from "zod";

const milliseconds = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

const stepTimeSchema = z.object({
  /** A step of the protocol; a newer device may have others. */
  step: z.string().max(32),
  /** Milliseconds, with the writes to the store that the step needs. */
  ms: milliseconds,
  /** Milliseconds of it in which at least one call to the container engine was in progress. */
  engine_ms: milliseconds,
});

const deploymentTimingsSchema = z.object({
  /** Milliseconds from the acceptance on the device to the final event. */
  total_ms: milliseconds,
  /** In the order in which the steps began. A step that was repeated is there once, with the sum. */
  steps: z.array(stepTimeSchema).max(32),
  /** The agent was restarted: the times before are not known, and the total begins with the restart. */
  since_restart: z.literal(true).exactOptional(),
});
export type DeploymentTimings = z.output<typeof deploymentTimingsSchema>;

/** Returns the entry `timings` of a final event's `details`; `undefined` if it is absent or invalid. */
export function timingsOf({
  details = {},
}: {
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}): DeploymentTimings | undefined {
  return deploymentTimingsSchema.safeParse(details["timings"]).data;
}

/** Returns the details of an event without its timings: those who show the rest have a view of their own for them. */
export function withoutTimings(details: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { timings: _timings, ...rest } = details;
  return rest;
}
