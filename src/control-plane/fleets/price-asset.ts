import { createHash, randomUUID } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import { AGENT_APP } from "../../protocol/agents/agent-update.ts";
import { deploymentEventSchema } from "../../protocol/deployments/deployment-event.ts";
import { splitDeployRequest } from "../../protocol/apps/deploy-request.ts";
import { EdgeError, type ErrorCode } from "../../protocol/errors/errors.ts";
import type { AuditOrigin } from "../accounts/audit-entry.ts";
import type { Command } from "../core/command.ts";
import { type AttemptInput, attemptRequest, FLEET_KEY } from "../core/fleets/attempt.ts";
import { agentRequest, needsAgent } from "../core/fleets/required-agent.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { openVariables } from "../sealing/variables.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { Store } from "../store/store.ts";

/** How long one asset may take to answer, in milliseconds. */
const MAX_ANSWER_MS = 60_000;

export interface AssetPriceOptions {
  readonly store: Pick<Store, "assets" | "assetSettings" | "sessions">;
  readonly deployments: Pick<Deployments, "request" | "events" | "cancel">;
  readonly sealer: Sealer;
  readonly clock: Clock;
}

/** What one asset has answered. */
export type PriceAnswer =
  | { readonly kind: "priced"; readonly downloadBytes: number }
  /** It is not connected, another deployment or something else is in the way, or no device was to be asked. */
  | { readonly kind: "not_asked"; readonly code?: ErrorCode; readonly message?: string }
  /** It was asked, and would refuse the revision, or has not answered. */
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string };

/** What the attempts on a device would be made from. */
export interface PriceInput extends Omit<AttemptInput, "variables"> {
  /** Version of the agent that it has. */
  readonly agentVersion: string | undefined;
}

/** Asks a device by ordinary dry runs what a revision would cost there, its agent and its apps. */
export async function priceAsset(
  { store, deployments, sealer, clock }: AssetPriceOptions,
  assetUuid: string,
  { agentVersion, ...input }: PriceInput,
  origin: AuditOrigin,
  signal: AbortSignal,
): Promise<PriceAnswer> {
  const asset = await store.assets.findAssetByUuid(assetUuid);
  const session = await store.sessions.find(assetUuid);
  if (!asset || session?.instanceId === undefined) {
    return notAsked("The device is not connected.");
  }
  if (!(await store.assets.isAccepted(assetUuid))) return notAsked("The device is not accepted yet.");
  const variables = openVariables(sealer, assetUuid, await store.assetSettings.readVariables(assetUuid));
  const made = attemptRequest({ ...input, variables });
  if (made.kind === "missing_variables") {
    return refused("InvalidRequest", `The asset does not have the variables ${made.names.join(", ")}.`);
  }
  const { goal } = input;
  const { spec, options } = splitDeployRequest(made.request);
  const ask = async (command: Command, app: string): Promise<PriceAnswer> => {
    try {
      const request = { command, app, options: { ...options, dry_run: true } };
      const id = await deployments.request(asset, request, origin, priceIdempotency());
      return await readAnswer({ deployments, clock }, { id, app, assetUuid }, origin, signal);
    } catch (error) {
      if (error instanceof EdgeError) return failed(error.code, error.message);
      throw error;
    }
  };
  const updatesAgent = goal.agent !== undefined && needsAgent(goal, agentVersion);
  const agent = updatesAgent
    ? await ask({ action: "update_agent", spec: agentRequest(goal.agent, { retryOf: undefined }) }, AGENT_APP)
    : NOTHING;
  if (agent.kind !== "priced" || goal.apps.length === 0) return agent;
  const apps = await ask({ action: "apply", spec }, spec.project);
  // The new agent would know what this one does not.
  if (updatesAgent && apps.kind === "refused" && apps.code === "DeviceTooOld") return agent;
  return apps.kind === "priced" ? { ...apps, downloadBytes: apps.downloadBytes + agent.downloadBytes } : apps;
}

/** What a rollout would wait for. */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["DeviceNotReachable", "ErrorDeploymentAlreadyExist"]);

const NOTHING = { kind: "priced", downloadBytes: 0 } as const;

async function readAnswer(
  { deployments, clock }: Pick<AssetPriceOptions, "deployments" | "clock">,
  deployment: { readonly id: string; readonly app: string; readonly assetUuid: string },
  origin: AuditOrigin,
  signal: AbortSignal,
): Promise<PriceAnswer> {
  const late = new AbortController();
  using _timer = clock.timer(MAX_ANSWER_MS, () => late.abort());
  for await (const batch of deployments.events(deployment.id, 0, AbortSignal.any([signal, late.signal]))) {
    const last = batch.at(-1);
    const event = last && deploymentEventSchema.parse(JSON.parse(last.json));
    if (event?.status === "Success") {
      const bytes = event.details?.["download_bytes"];
      return typeof bytes === "number"
        ? { kind: "priced", downloadBytes: bytes }
        : refused("DeviceFailed", "The device did not tell what it would download.");
    }
    if (event?.status !== "Fail") continue;
    const { code = "Internal", message } = event;
    return failed(code, message);
  }
  await deployments.cancel(deployment, origin);
  return refused("DeploymentTimeout", `The device has not answered within ${MAX_ANSWER_MS / 1000} s.`);
}

/** As that of an attempt, so that its command is kept back too if the device is replaced meanwhile. */
function priceIdempotency() {
  const key = `${FLEET_KEY}price:${randomUUID()}`;
  return { key, requestHash: createHash("sha256").update(key).digest() };
}

function notAsked(message: string, code: ErrorCode = "DeviceNotReachable"): PriceAnswer {
  return { kind: "not_asked", code, message };
}

function failed(code: ErrorCode, message: string): PriceAnswer {
  return PASSING.has(code) ? notAsked(message, code) : refused(code, message);
}

function refused(code: ErrorCode, message: string): PriceAnswer {
  return { kind: "refused", code, message };
}
