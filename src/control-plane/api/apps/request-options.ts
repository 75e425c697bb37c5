import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { DeployOptions, RegistryAuth } from "../../../protocol/deploy-options.ts";
import { EdgeError } from "../../../protocol/errors.ts";
import { booleanString } from "../../../protocol/query-string.ts";

/** Query parameters of a deployment or an update. */
export const deployQuerySchema = z.strictObject({
  dry_run: booleanString()
    .default(false)
    .meta({ description: "Everything is checked and priced; nothing is changed." }),
});

interface GivenOptions {
  readonly registry_auth?: RegistryAuth;
  readonly max_download_bytes?: number;
  readonly urgent?: boolean;
}

/** Tells the specification in a request's body from how it is to be carried out. */
export function splitDeployRequest<T extends GivenOptions>(body: T, dryRun: boolean) {
  const { registry_auth, max_download_bytes, urgent, ...spec } = body;
  const options: DeployOptions = {
    ...(registry_auth && { registry_auth }),
    ...(max_download_bytes !== undefined && { max_download_bytes }),
    ...(urgent && { urgent }),
    ...(dryRun && { dry_run: true }),
  };
  return { spec, options };
}

/** Refuses a request without the body it needs. */
export async function requireBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) throw new EdgeError("InvalidJson");
}
