import { z } from "zod";

/** A change of a SIM that its operator has queued. */
export const pendingSchema = z.looseObject({
  status: z.string().optional(),
  network_group: z.string().optional(),
  /** Unix seconds. */
  since: z.number(),
});
export type PendingChange = z.output<typeof pendingSchema>;
