import { type Clock, unixNow } from "../../lib/clock.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { Asset } from "../core/asset.ts";
import { forecastDataPlan, judgementHoldsS, type DataPlanForecast, planRange } from "../core/sims/plan-forecast.ts";
import type { Allowance, DataPlanStore, DataPlanFinding, DataPlanUsage } from "../store/data-plans.ts";
import type { DailyUsageReader } from "./daily-usage.ts";

/** How long a SIM without allowance is not looked at again, in seconds: setting an allowance makes it due at once. */
const NO_PLAN_HOLDS_S = 3_600;
/** Share of the interval by which plans drift apart, so that they spread over it. */
const SPREAD = 0.2;

export interface DataPlansOptions {
  readonly store: DataPlanStore;
  readonly usage: DailyUsageReader;
  readonly clock: Clock;
  /** Called when a plan was spent and is not any more. */
  readonly onRestored: () => void;
}

/** A plan as it is now. */
export interface DataPlanStatus {
  readonly allowance: Allowance;
  readonly forecast: DataPlanForecast;
  /** When the operator said what was used, in Unix seconds; `undefined` where usage is imported. */
  readonly asOf: number | undefined;
}

/** The monthly data plans of SIMs: how much of them is used, and will be. */
export class DataPlans {
  readonly #options: DataPlansOptions;

  constructor(options: DataPlansOptions) {
    this.#options = options;
  }

  /**
   * Reads the plan of a SIM, and stores what was found of it. Returns `undefined` if it has no allowance. Errors: `SimNotFound`,
   * `SimOperatorFailed`.
   */
  async judge(asset: Asset, type: SimType): Promise<DataPlanStatus | undefined> {
    const status = await this.#read(asset, type);
    const now = unixNow(this.#options.clock);
    const finding = status && findingOf(status.forecast);
    const holdsS = status ? judgementHoldsS(status.forecast, status.allowance.bytes) : NO_PLAN_HOLDS_S;
    const pauseMs = holdsS * 1000 * (1 - SPREAD / 2 + SPREAD * Math.random());
    const usage = status && usageOf(status, now);
    await this.#record(asset, type, finding, nextDueMs(now, pauseMs, finding), now, usage);
    return status;
  }

  /** The usage was not to be had: what was found before counts until its month ends. */
  async postpone(asset: Asset, type: SimType, found: DataPlanFinding | undefined, pauseMs: number): Promise<void> {
    const now = unixNow(this.#options.clock);
    const finding = found && found.until > now ? found : undefined;
    await this.#record(asset, type, finding, nextDueMs(now, pauseMs, finding), now);
  }

  async #record(
    { uuid }: Asset,
    type: SimType,
    finding: DataPlanFinding | undefined,
    nextDueMs: number,
    now: number,
    usage?: DataPlanUsage,
  ) {
    const { store, onRestored } = this.#options;
    if (await store.recordFinding(uuid, type, finding, nextDueMs, now, usage)) onRestored();
  }

  async #read(asset: Asset, type: SimType): Promise<DataPlanStatus | undefined> {
    const { store, usage, clock } = this.#options;
    const allowance = await store.findAllowance(asset.uuid, type);
    if (!allowance) return undefined;
    const now = unixNow(clock);
    const { days, asOf } = await usage.readDays(asset, type, planRange(now));
    const question = { allowanceBytes: allowance.bytes, days, registeredAt: asset.createdAt, now };
    return { allowance, forecast: forecastDataPlan(question), asOf };
  }
}

/** What was found is over with its month. @param now Unix seconds */
function nextDueMs(now: number, pauseMs: number, finding: DataPlanFinding | undefined): number {
  return Math.min(now * 1000 + Math.ceil(pauseMs), finding ? finding.until * 1000 : Infinity);
}

function usageOf({ forecast: { usedBytes, forecastBytes }, asOf }: DataPlanStatus, now: number): DataPlanUsage {
  return { usedBytes, forecastBytes, asOf: asOf ?? now };
}

function findingOf({ state, month }: DataPlanForecast): DataPlanFinding | undefined {
  return state === "ok" ? undefined : { state, until: month.end };
}
