import { z } from "zod";
import { ERRORS, type ErrorCode } from "../errors/errors.ts";
import { MAX_MESSAGE_LENGTH } from "../limits.ts";
import { sanitizedText } from "../values/sanitized-text.ts";
import { anyObject } from "../values/scalars.ts";

/** `Running` any number of times, then exactly one of the other two, which are final. */
export const deploymentStatusSchema = z.enum(["Running", "Success", "Fail"]);
export type DeploymentStatus = z.output<typeof deploymentStatusSchema>;

export const deploymentStepSchema = z
  .enum([
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
  ])
  .meta({ id: "DeploymentStep", description: "A step of a deployment." });
export type DeploymentStep = z.output<typeof deploymentStepSchema>;

/** A code of the error table. */
export const errorCodeSchema = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).meta({
  id: "ErrorCode",
  description: "Error code, for programs. `x-retryable` lists those after which the same request may succeed.",
  "x-retryable": Object.entries(ERRORS).flatMap(([code, { retryable }]) => (retryable ? [code] : [])),
});

const byteProgressSchema = z.object({
  done: z.int().min(0).meta({ description: "Bytes pulled so far." }),
  total: z.int().min(0).meta({ description: "Bytes to pull, as far as known." }),
});

const common = {
  status: deploymentStatusSchema.meta({
    description: "`Running` any number of times, then `Success` or `Fail`, which is the last event.",
  }),
  message: sanitizedText(MAX_MESSAGE_LENGTH).meta({ description: "What happens or happened, for people." }),
  step: deploymentStepSchema.meta({ description: "The step of the deployment that the event belongs to." }),
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
  app: z
    .string()
    .max(64)
    .optional()
    .meta({ description: "In a deployment with action `apply`: the app that the event is about, if it is about one." }),
  details: anyObject.optional().meta({
    description:
      "More about the event; its entries depend on the step and the code. The last event may have `timings`: how long " +
      "the steps took.",
  }),
};

/** One event as sent to clients. */
export const deploymentEventSchema = z
  .object({
    ...common,
    deployment_id: z
      .string()
      .meta({ description: "Id of the deployment; empty in the refusal of a request that did not become one." }),
    seq: z.int().min(1).meta({ description: "Number of the event, from 1, without gaps." }),
    timestamp: z.int().meta({ description: "When it happened. Unix seconds, UTC.", examples: [1_795_178_868] }),
  })
  .meta({
    id: "DeploymentEvent",
    description: "One event of a deployment.",
  });
export type DeploymentEvent = z.output<typeof deploymentEventSchema>;

/** The events of a deployment that goes well. */
export const DEPLOYMENT_EVENT_EXAMPLES: readonly DeploymentEvent[] = [
  {
    status: "Running",
    message: "Deployment received.",
    step: "received",
    deployment_id: "dep_01KAN9BZ5V3S0Y4M6T8R2X7Q1C",
    seq: 1,
    timestamp: 1_795_178_868,
  },
  {
    status: "Running",
    message: "Pulling image: 43% (12.3 of 28.5 MB).",
    step: "pulling",
    progress: 43,
    bytes: { done: 12_300_000, total: 28_500_000 },
    deployment_id: "dep_01KAN9BZ5V3S0Y4M6T8R2X7Q1C",
    seq: 2,
    timestamp: 1_795_178_871,
  },
  {
    status: "Success",
    message: "App node-red is running.",
    step: "done",
    deployment_id: "dep_01KAN9BZ5V3S0Y4M6T8R2X7Q1C",
    seq: 3,
    timestamp: 1_795_178_880,
  },
];

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
export type EventContent = Pick<
  DeviceEvent,
  "status" | "message" | "step" | "progress" | "bytes" | "code" | "app" | "details"
>;

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
