import { z } from "zod";
import { ERRORS, type ErrorCode } from "./errors.ts";
import { MAX_MESSAGE_LENGTH } from "./limits.ts";
import { sanitizedText } from "./sanitized-text.ts";

/** `Running` any number of times, then exactly one of the two final ones. */
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
  progress: z.int().min(0).max(100).optional().meta({ description: "Percent, while pulling." }),
  bytes: byteProgressSchema.optional().meta({ description: "Bytes pulled and known so far, while pulling." }),
  code: errorCodeSchema.optional().meta({ description: "With `Fail`: what went wrong." }),
  details: z.record(z.string(), z.unknown()).optional(),
};

/** One event as the client sees it in the stream. */
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
 * progress was dropped; the control plane gives the client's `seq`. The device sends no time of day, since it may
 * have no clock worth believing: `age_ms` is how old the event is, left out where that is unknown (a reboot between).
 */
export const deviceEventSchema = z.object({
  ...common,
  device_seq: z.int().min(1),
  age_ms: z.int().min(0).optional(),
});
export type DeviceEvent = z.output<typeof deviceEventSchema>;

/** What an event says, before anybody has numbered it. */
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

/** Whether no event may follow this one. */
export function isFinal(event: { readonly status: DeploymentStatus }): boolean {
  return event.status !== "Running";
}

/** Cuts a text to what an event's message may hold. */
export function truncateMessage(text: string): string {
  return text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
