import type { Clock } from "../../lib/clock.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import { decideRollout, isFailure } from "../core/fleets/progress.ts";
import { waitsForPeople } from "../core/fleets/rollout-commands.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { RolloutChange, RolloutFence, TargetCount } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import { rolloutEvent, stopEntry } from "./rollout-events.ts";
import { completes } from "./retry-rollout.ts";
import type { Round } from "./round.ts";

/** Shortest time between two events about progress in the stream of a rollout. */
const PROGRESS_INTERVAL_MS = 2_000;
/** Codes of failures that the reason of a stop counts. */
const MAX_FAILURES_READ = 1_000;
const FAILED_STATES = ["failed", "lost"] as const;

export interface RolloutProgressOptions {
  readonly store: Pick<Store, "fleets" | "rollouts">;
  readonly clock: Clock;
}

/** Lets the core decide about a rollout by the counts of its targets, and tells its stream. */
export class RolloutProgress {
  readonly #options: RolloutProgressOptions;
  #toldCounts = "";
  #hasToldWaiting = false;
  /** In monotonic milliseconds. */
  #toldAt = -Infinity;

  constructor(options: RolloutProgressOptions) {
    this.#options = options;
  }

  /** Decides about the rollout and stores that. Returns it as it is afterwards, and whether it has ended. */
  async decide(
    round: Round,
    counts: readonly TargetCount[],
  ): Promise<{ readonly after: Rollout | undefined; readonly hasEnded: boolean }> {
    const { rollout, fleet, fence, nowMs } = round;
    const decision = decideRollout(rollout, counts, await this.#readFailures(rollout.id, counts), nowMs);
    if (decision.kind === "nothing") return { after: rollout, hasEnded: false };
    const hasSucceeded = decision.fields.state === "succeeded";
    const { retryOf } = rollout;
    const isStable = hasSucceeded && (retryOf === undefined || (await completes(this.#options.store, retryOf)));
    const after = await this.store(fence, rollout, (current) => ({
      fields: decision.fields,
      event: rolloutEvent({ ...current, ...decision.fields }, counts, nowMs),
      audit: stopEntry(current, fleet, decision, nowMs),
      ...(isStable && { stableRevision: current.revision }),
    }));
    return { after, hasEnded: decision.kind === "finish" };
  }

  /** Stores a change of the rollout unless another writer has changed it since it was read. Returns it as it is afterwards. */
  async store(
    fence: RolloutFence,
    seen: Rollout,
    change: (current: Rollout) => RolloutChange,
  ): Promise<Rollout | undefined> {
    return this.#options.store.rollouts.updateRollout(
      seen.id,
      (current) => (current.version === seen.version ? change(current) : undefined),
      fence,
    );
  }

  /** Pauses the fleet because a device has a revision of it that is not on record. */
  async pauseFleet(
    { fleet, rollout, fence, nowMs }: Round,
    { assetUuid, revision }: { readonly assetUuid: string; readonly revision: number },
  ): Promise<void> {
    const reason =
      `The device of asset ${assetUuid} has revision ${revision} of this fleet, which is not on record: the service was probably ` +
      "restored from an old backup. Make a new revision, then resume.";
    await this.#options.store.fleets.updateFleet(fleet.id, (current) =>
      current.pausedReason === undefined ? { pausedReason: reason } : undefined,
    );
    if (rollout.kind === "upkeep" || rollout.state !== "running") return;
    const fields = { state: "paused", reason } as const;
    await this.store(fence, rollout, (current) => ({
      fields,
      event: rolloutEvent({ ...current, ...fields }, [], nowMs),
    }));
  }

  /**
   * Adds an event to the stream when the counts have changed, at a limited rate. Returns after how many milliseconds it has to be
   * called again for what it did not add yet; `undefined`: only when something changes.
   */
  async tell(fence: RolloutFence, rollout: Rollout, counts: readonly TargetCount[]): Promise<number | undefined> {
    if (rollout.kind === "upkeep" || rollout.finishedAtMs !== undefined) return undefined;
    const { clock, store } = this.#options;
    const failures = await store.rollouts.countFailedAttempts(rollout.id);
    const text = JSON.stringify([counts, failures]);
    if (text === this.#toldCounts) return undefined;
    const remainingMs = this.#toldAt + PROGRESS_INTERVAL_MS - clock.monotonic();
    const isWaiting = waitsForPeople(rollout, counts);
    // People hear at once that it waits for them.
    if (remainingMs > 0 && isWaiting === this.#hasToldWaiting) return remainingMs;
    const waits = counts.some(({ state }) => state === "waiting") ? await store.rollouts.listWaits(rollout.id) : [];
    const isForAccount = isWaiting !== this.#hasToldWaiting;
    const event = rolloutEvent(rollout, counts, clock.now(), waits, failures);
    await store.rollouts.addEvent(fence, event, { isForAccount });
    this.#toldCounts = text;
    this.#toldAt = clock.monotonic();
    this.#hasToldWaiting = isWaiting;
    return undefined;
  }

  async #readFailures(id: string, counts: readonly TargetCount[]): Promise<readonly (ErrorCode | undefined)[]> {
    if (!counts.some((group) => isFailure(group) && group.count > 0)) return [];
    const { rollouts } = this.#options.store;
    return (await rollouts.listTargets(id, MAX_FAILURES_READ, { states: FAILED_STATES })).map(({ code }) => code);
  }
}
