import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { AssetFacts } from "../store/members.ts";
import type { FactsTime } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";
import { FleetGoals } from "./fleet-goals.ts";
import { judgeAssets } from "./judge-assets.ts";
import { addUpkeepTarget } from "./reapply.ts";

/** Assets that are read and judged at a time. Others are served in between. */
const BATCH = 200;
const FLEETS_AT_ONCE = 200;
/** Shortest time between two looks at all assets, and how many times as long as the last one took it is at least. */
const SWEEP_INTERVAL_MS = 500;
const SWEEP_INTERVAL_FACTOR = 5;
/** All assets are judged again after this time, should an event have been missed. */
const FULL_SWEEP_INTERVAL_MS = 30 * 60_000;
const IDLE_MS = 60_000;

export interface MemberJudgeOptions {
  readonly store: Pick<Store, "fleets" | "members" | "rollouts">;
  readonly sealer: Sealer;
  readonly accountId: string;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  /** Called when members are to be repaired by the upkeep of their fleets. */
  readonly onRepair: (assetUuids: readonly string[]) => void;
}

/**
 * Judges the members of an account's fleets whenever something happens that their state follows from, and stores what has changed. What
 * is stored is all that lists, counts and the rest read.
 */
export class MemberJudge implements Disposable {
  readonly #options: MemberJudgeOptions;
  readonly #goals: FleetGoals;
  readonly #latch = new Latch();
  readonly #dirty = new Set<string>();
  #mustSweep = true;
  /** In monotonic milliseconds. */
  #sweptAt = -Infinity;
  #sweepIntervalMs = SWEEP_INTERVAL_MS;
  #isClosed = false;

  constructor(options: MemberJudgeOptions) {
    this.#options = options;
    this.#goals = new FleetGoals(options);
    void this.#run();
  }

  /** Says that something happened to an asset, or to what fleets do there. */
  notify(assetUuids: readonly string[]): void {
    if (assetUuids.length === 0) return;
    for (const assetUuid of assetUuids) this.#dirty.add(assetUuid);
    this.#latch.set();
  }

  /** Says that something happened to fleets: all of their members are judged again. */
  sweep(): void {
    this.#mustSweep = true;
    this.#latch.set();
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#latch.set();
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    for (let failures = 0; !this.#isClosed;) {
      try {
        await this.#round();
        failures = 0;
        if (!this.#isClosed) await this.#wait();
      } catch (error) {
        logStoreError(logger, error, {}, "cannot judge the members of fleets; trying again");
        this.#mustSweep = true;
        await clock.sleep(storeRetryDelayMs(failures++, Math.random()));
      }
    }
  }

  async #round(): Promise<void> {
    const { store, accountId, clock } = this.#options;
    const began = clock.monotonic();
    if (began - this.#sweptAt >= FULL_SWEEP_INTERVAL_MS) this.#mustSweep = true;
    if (this.#mustSweep && began - this.#sweptAt >= this.#sweepIntervalMs) {
      this.#mustSweep = false;
      this.#sweptAt = began;
      this.#dirty.clear();
      await this.#sweepAll();
      this.#sweepIntervalMs = Math.max(SWEEP_INTERVAL_MS, SWEEP_INTERVAL_FACTOR * (clock.monotonic() - began));
    }
    for (const uuid of await store.members.listDue(accountId, clock.now(), BATCH)) this.#dirty.add(uuid);
    while (this.#dirty.size > 0 && !this.#isClosed) {
      const uuids = [...this.#dirty].slice(0, BATCH);
      for (const uuid of uuids) this.#dirty.delete(uuid);
      await this.#judge(await store.members.readAssets(this.#time(), accountId, uuids));
    }
  }

  async #sweepAll(): Promise<void> {
    const { store, accountId } = this.#options;
    for (let after: string | undefined; !this.#isClosed;) {
      const page = await store.members.listAssets(this.#time(), accountId, BATCH, after);
      await this.#judge(page);
      after = page.at(-1)?.assetUuid;
      if (page.length < BATCH) return;
      await new Promise(setImmediate);
    }
  }

  async #judge(assets: readonly AssetFacts[]): Promise<void> {
    if (assets.length === 0) return;
    const { store, accountId, clock, onRepair } = this.#options;
    const fleets = await store.fleets.listFleets(accountId, FLEETS_AT_ONCE);
    const nowMs = clock.now();
    const { changes, attention, repairs } = await this.#goals.withGoals(fleets, (scopes) =>
      judgeAssets(scopes, assets, nowMs),
    );
    await store.members.changeMembers(accountId, changes, attention, Math.floor(nowMs / 1000));
    for (const { fleet, assetUuid } of repairs) await addUpkeepTarget(this.#options, fleet, assetUuid);
    if (repairs.length > 0) onRepair(repairs.map(({ assetUuid }) => assetUuid));
  }

  async #wait(): Promise<void> {
    const { store, accountId, clock } = this.#options;
    const dueMs = await store.members.nextDue(accountId);
    const untilDueMs = dueMs === undefined ? IDLE_MS : Math.max(0, dueMs - clock.now());
    const untilSweepMs = this.#mustSweep
      ? Math.max(0, this.#sweptAt + this.#sweepIntervalMs - clock.monotonic())
      : IDLE_MS;
    await this.#latch.wait(clock, Math.min(IDLE_MS, untilDueMs, untilSweepMs));
  }

  #time(): FactsTime {
    const { clock } = this.#options;
    return { now: Math.floor(clock.now() / 1000), serviceNowMs: Math.floor(clock.serviceNow()) };
  }
}
