import { createHash } from "node:crypto";
import { Semaphore } from "../../lib/semaphore.ts";
import { AGENT_APP } from "../../protocol/agents/agent-update.ts";
import { type Apply, applySchema } from "../../protocol/apps/apply.ts";
import { EdgeError, type ErrorCode } from "../../protocol/errors/errors.ts";
import type { AuditOrigin } from "../accounts/audit-entry.ts";
import type { AppCommand } from "../core/command.ts";
import { attemptKey, attemptRequest } from "../core/fleets/attempt.ts";
import { agentRequest, type AttemptPart } from "../core/fleets/required-agent.ts";
import type { Rollout, Target } from "../core/fleets/rollout.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Sealer } from "../sealing/sealer.ts";
import { openVariables } from "../sealing/variables.ts";
import type { Store } from "../store/store.ts";
import type { RolloutContents } from "./fleet-contents.ts";

/** Deployments that are requested at the same time. */
const MAX_REQUESTS = 50;

/** An attempt that is to be requested. */
export interface AttemptOrder {
  readonly target: Target;
  readonly part: AttemptPart;
}

/** What became of the request of an attempt. */
export type RequestedAttempt =
  | { readonly kind: "requested"; readonly deploymentId: string }
  /** It was refused, and no deployment exists. */
  | { readonly kind: "refused"; readonly code: ErrorCode; readonly message: string };

export interface AttemptsOptions {
  readonly store: Pick<Store, "assets" | "assetSettings" | "agentReleases">;
  readonly deployments: Pick<Deployments, "request">;
  readonly sealer: Sealer;
}

/** Requests the deployments of attempts: ordinary ones, with a key of their own, so that a repeat finds the same. */
export class Attempts {
  readonly #options: AttemptsOptions;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Requests the attempts, and calls `onDone` for each. Throws what the store throws, after all have settled. */
  async request(
    rollout: Rollout,
    contents: RolloutContents,
    orders: readonly AttemptOrder[],
    onDone: (target: Target, result: RequestedAttempt) => void,
  ): Promise<void> {
    const places = new Semaphore(MAX_REQUESTS);
    const requests = orders.map(async (order) => {
      using _place = await places.acquire();
      const result = await this.#requestOne(rollout, contents, order);
      if (result) onDone(order.target, result);
    });
    // All of them settle first: what was requested is stored, whatever became of the others.
    const failed = (await Promise.allSettled(requests)).find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** Returns `undefined` if the asset was removed meanwhile, and its target with it. */
  async #requestOne(
    rollout: Rollout,
    { goals, revisions }: RolloutContents,
    { target, part }: AttemptOrder,
  ): Promise<RequestedAttempt | undefined> {
    const { store, deployments, sealer } = this.#options;
    const asset = await store.assets.findAssetByUuid(target.assetUuid);
    if (!asset) return undefined;
    const goal = goals[target.direction];
    const { max_download_bytes: limit } = rollout.strategy;
    const options = limit === undefined ? {} : { max_download_bytes: limit };
    let command: AppCommand;
    if (part === "agent" && goal.agent) {
      const { version, served } = goal.agent;
      const stored = await store.agentReleases.findRelease(version);
      if (stored?.digest !== served.digest) {
        const message = `The service has the release ${version} of the revision no more.`;
        return { kind: "refused", code: "AgentReleaseNotFound", message };
      }
      const spec = agentRequest(goal.agent, rollout);
      command = { command: { action: "update_agent", spec }, app: AGENT_APP, options };
    } else {
      const variables = openVariables(sealer, asset.uuid, await store.assetSettings.readVariables(asset.uuid));
      const made = attemptRequest({ goal, revisions, variables, strategy: rollout.strategy });
      if (made.kind === "missing_variables") {
        const message = `The asset lacks variables that the revision needs: ${made.names.join(", ")}.`;
        return { kind: "refused", code: "InvalidRequest", message };
      }
      const { max_download_bytes: _limit, ...group } = made.request;
      command = { command: { action: "apply", spec: withDefaults(group) }, app: group.project, options };
    }
    const key = attemptKey(target);
    try {
      const idempotency = { key, requestHash: createHash("sha256").update(key).digest() };
      return {
        kind: "requested",
        deploymentId: await deployments.request(asset, command, originOf(rollout), idempotency),
      };
    } catch (error) {
      if (error instanceof EdgeError && error.code !== "ServiceUnavailable") {
        return { kind: "refused", code: error.code, message: error.message };
      }
      throw error;
    }
  }
}

/** As an apply of a client is stored and sent. */
function withDefaults(group: object): Apply {
  return applySchema.parse(group);
}

/** The service acts for the rollout: who started it is in the entry of the rollout. */
function originOf({ id, accountId }: Rollout): AuditOrigin {
  return { accountId, actor: { kind: "service", id }, source: undefined };
}
