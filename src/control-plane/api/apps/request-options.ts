import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { DeployOptions } from "../../../protocol/apps/deploy-request.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { MAX_REQUEST_BYTES, MAX_WAIT_FOR_DEVICE_S } from "../../../protocol/limits.ts";
import { booleanString, integerString } from "../../../protocol/values/scalars.ts";

/** Query parameters of a deployment or an update. */
export const deployQuerySchema = z.strictObject({
  dry_run: booleanString()
    .default(false)
    .meta({ description: "Checks everything and computes the pull cost, without changing anything." }),
});

/** Query parameters of a request without a body. */
export const waitQuerySchema = z.strictObject({
  wait_for_device_s: integerString(0, MAX_WAIT_FOR_DEVICE_S)
    .optional()
    .meta({ description: "As the field of the same name in the body of a deployment." }),
});

/** The options as they are stored and sent to the device: only those that are set. */
export function toDeployOptions({ urgent, ...given }: DeployOptions, dryRun: boolean): DeployOptions {
  return { ...given, ...(urgent && { urgent }), ...(dryRun && { dry_run: true }) };
}

/** Refuses a request without a body. Error: `InvalidJson`. */
export async function requireBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) throw new EdgeError("InvalidJson");
}

/** Refuses a request that is too large without the files of its app. Error: `PayloadTooLarge`. */
export async function limitOtherFields({ body, headers }: FastifyRequest): Promise<void> {
  const length = Number(headers["content-length"] ?? Number.NaN);
  if (length <= MAX_REQUEST_BYTES || typeof body !== "object" || body === null) return;
  const { files: _, ...rest } = body as { files?: unknown };
  if (Buffer.byteLength(JSON.stringify(rest)) > MAX_REQUEST_BYTES) throw new EdgeError("PayloadTooLarge");
}
