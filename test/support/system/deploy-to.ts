import type { z } from "zod";
import type { appSpecSchema } from "../../../src/protocol/apps/app-spec.ts";
import { type DeploymentEvent, isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import { openStream } from "../event-stream.ts";
import type { Account, Asset, ControlProcess } from "./control.ts";

const DEPLOYMENT_MS = 240_000;

/** Deploys an app through the public endpoint and returns the final event. */
export async function deployTo(
  control: ControlProcess,
  { apiKey }: Account,
  asset: Asset,
  spec: z.input<typeof appSpecSchema>,
): Promise<DeploymentEvent> {
  const url = `${control.url}/v1/assets/${asset.uuid}/edge/apps`;
  const stream = await openStream(url, { method: "POST", apiKey, body: spec });
  await stream.until("the end of the deployment", ({ events }) => events.some(isFinal), DEPLOYMENT_MS);
  return stream.events.at(-1) as DeploymentEvent;
}
