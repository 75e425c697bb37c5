import { z } from "zod";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { MAX_MESSAGE_LENGTH } from "./limits.ts";
import { sanitizedText } from "./sanitized-text.ts";

/** `Running` any number of times, then exactly one of the other two, which are final. */
export const deploymentStatusSchema = z.enum(["Running", "Success", "Fail"]);
export type DeploymentStatus = z.output<typeof deploymentStatusSchema>;

export const deploymentStepSchema = z.enum([
  "received",
  "checking",
  "pulling",
  "creating",
  "starting",
  "verifying",
  "stopping",
  "removing",
  "rolling_back",
  "done",
]);
export type DeploymentStep = z.output<typeof deploymentStepSchema>;

/** A code of the error table. */
export const errorCodeSchema = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]);

const byteProgressSchema = z.object({ done: z.int().min(0), total: z.int().min(0) });

const common = {
  status: deploymentStatusSchema,
  message: sanitizedText(MAX_MESSAGE_LENGTH),
  step: deploymentStepSchema,
  progress: z
    .int()
    .min(0)
    .max(100)
    .optional()
    .meta({ description: "Percent of the image pulled, in events of the step `pulling`." }),
  bytes: byteProgressSchema
    .optional()
    .meta({ description: "Bytes pulled, and total bytes known so far, in events of the step `pulling`." }),
  code: errorCodeSchema.optional().meta({ description: "With `Fail`: the error code." }),
  details: z.record(z.string(), z.unknown()).optional(),
};

/** One event as sent to clients. */
export const deploymentEventSchema = z
  .object({
    ...common,
    deployment_id: z.string(),
    seq: z.int().min(1).meta({ description: "From 1, without gaps." }),
    timestamp: z.int().meta({ description: "Unix seconds." }),
  })
  .meta({ id: "DeploymentEvent" });
export type DeploymentEvent = z.output<typeof deploymentEventSchema>;

/**
 * One event as the device sends it. `device_seq` rises strictly within a deployment, with gaps where superseded
 * progress was dropped; the control plane assigns the client's `seq`. The device's clock may be wrong, so it sends
 * `age_ms`, the age of the event, instead of a time; absent where the age is unknown (after a reboot).
 */
export const deviceEventSchema = z.object({
  ...common,
  device_seq: z.int().min(1),
  age_ms: z.int().min(0).optional(),
});
export type DeviceEvent = z.output<typeof deviceEventSchema>;

/** An event before it has a sequence number. */
export type EventContent = Pick<DeviceEvent, "status" | "message" | "step" | "progress" | "bytes" | "code" | "details">;

/**
 * The entries of an event's `details` that decide something; all others are for people. An entry of the wrong type
 * counts as absent.
 */
const progressDetailsSchema = z.object({
  /** Seconds, by the device's clock, for which the device puts the download off. */
  waiting_s: z.number().min(0).optional().catch(undefined),
  /** How often the link broke during the download. */
  cuts: z.int().min(0).optional().catch(undefined),
  bytes_per_second: z.number().min(0).optional().catch(undefined),
});
export type ProgressDetails = z.output<typeof progressDetailsSchema>;

/** Returns the entries of an event's `details` that decide something. */
export function progressDetails({
  details = {},
}: {
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}): ProgressDetails {
  return progressDetailsSchema.parse(details);
}

/** Whether this is the last event of its deployment. */
export function isFinal(event: { readonly status: DeploymentStatus }): boolean {
  return event.status !== "Running";
}

/** Truncates a text to the maximum length of an event's message, with an ellipsis. */
export function truncateMessage(text: string): string {
  return text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
