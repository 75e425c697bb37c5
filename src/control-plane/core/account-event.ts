import type { AccountEvent } from "../../protocol/assets/account-event.ts";
import { bitsOfOutcome } from "./attention.ts";
import { codeOf, type Deployment, finishedAtMsOf, isFinished, progressOf, statusOf } from "./deployment.ts";

type Unnumbered<E> = E extends unknown ? Omit<E, "id" | "timestamp"> : never;

/** An event of an account before it is stored. The store gives it its id and its time. */
export type NewAccountEvent = Unnumbered<AccountEvent>;

/** What a change of a deployment means for its asset and its account. */
export interface AssetEffect {
  /** By how much the number of deployments that wait for the device changes. */
  readonly waits: number;
  /** The bits of `OUTCOME_BITS` from now on; `undefined` if they stay. */
  readonly outcome: number | undefined;
  /** The events of the account: none for progress within a step, which is in the deployment's own events. */
  readonly events: readonly NewAccountEvent[];
  /** Whether the events also tell the attention of the asset, as it is after the change. */
  readonly tellsAttention: boolean;
  /** When that was, Unix seconds. */
  readonly at: number;
}

/** @param before `undefined` for a new deployment, which may have ended already */
export function assetEffectOf(before: Deployment | undefined, after: Deployment): AssetEffect {
  const waits = Number(isWaitingForDevice(after)) - Number(before !== undefined && isWaitingForDevice(before));
  const wasRunning = before === undefined || !isFinished(before);
  const events = wasRunning ? eventsOf(before, after, waits !== 0) : [];
  return {
    waits,
    // A check has changed nothing: neither has the asset failed, nor is an earlier failure over.
    outcome:
      wasRunning && after.options.dry_run !== true
        ? bitsOfOutcome({ status: statusOf(after), code: codeOf(after) })
        : undefined,
    events,
    // Not for each step: that changes nothing.
    tellsAttention: events.some(({ type }) => type !== "deployment.moved") || (waits !== 0 && events.length > 0),
    at:
      isFinished(after) || !after.lastEvent
        ? unixOf(finishedAtMsOf(after) ?? after.createdAtMs)
        : after.lastEvent.timestamp,
  };
}

const unixOf = (ms: number): number => Math.floor(ms / 1000);

function eventsOf(before: Deployment | undefined, after: Deployment, hasWaited: boolean): NewAccountEvent[] {
  const { assetUuid, id, app, command } = after;
  const about = { asset_id: assetUuid, deployment_id: id, app, action: command.action };
  const started: NewAccountEvent[] = before ? [] : [{ type: "deployment.started", ...about }];
  if (isFinished(after)) {
    const code = codeOf(after);
    return [
      ...started,
      { type: "deployment.ended", ...about, status: statusOf(after), ...(code !== undefined && { code }) },
    ];
  }
  const step = after.lastEvent?.step;
  if (!before || step === undefined || (step === before.lastEvent?.step && !hasWaited)) return started;
  return [{ type: "deployment.moved", ...about, step }];
}

/** Whether the deployment waits for its device to connect. */
function isWaitingForDevice(deployment: Deployment): boolean {
  return !isFinished(deployment) && progressOf(deployment).kind === "waiting";
}
