import type { Clock } from "../../lib/clock.ts";
import { KeyedLock } from "../../lib/keyed-lock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Granularity } from "../../protocol/assets/usage.ts";
import type { Asset } from "../core/asset.ts";
import { isAnswered, neededDays, planReading, type UsageCoverage } from "../core/sims/usage-coverage.ts";
import { type CountedUsage, daysOf, hoursOf, partsOf, type RangePart, sumUsage } from "../core/sims/usage-periods.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { type OperatorSim, type SimOperator, SimOperatorError } from "../sim-operator/sim-operator.ts";
import type { CountedSim, OperatorUsageStore } from "../store/operator-usage.ts";

/** An operator that did not answer is not asked for the same again for this long: those who came meanwhile do not wait, too. */
const UNANSWERED_MS = 10_000;

export interface OperatorUsageOptions {
  readonly store: OperatorUsageStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
  /** How old an answer about what is not final may be, in milliseconds. */
  readonly refreshMs: number;
}

export interface OperatorUsageQuestion {
  readonly asset: Asset;
  readonly sim: OperatorSim;
  readonly operator: SimOperator;
  readonly range: TimeRange;
  readonly granularity: Granularity;
  /** Usage before this time does not change any more, in Unix seconds. */
  readonly finalizedUntil: number;
}

export interface OperatorUsage {
  readonly totals: readonly UsageTotal[];
  /** When the operator said the last of it, in Unix seconds. */
  readonly asOf: number;
}

/**
 * Usage of SIMs, read through the store: an operator is asked once for what is final, and seldom for the rest. While it does not
 * answer, the last answer counts.
 */
export class OperatorUsageReader {
  readonly #options: OperatorUsageOptions;
  readonly #locks = new KeyedLock();
  /** Questions that were not answered lately, by the key of their lock. */
  readonly #unanswered = new Map<string, SimOperatorError>();

  constructor(options: OperatorUsageOptions) {
    this.#options = options;
  }

  /**
   * Returns the usage as the operator counts it. Errors: `GranularityNotAvailable`, and `SimOperatorError` where the operator does
   * not answer and has not answered before.
   */
  async read(question: OperatorUsageQuestion): Promise<OperatorUsage> {
    const { range, granularity, operator } = question;
    const nowMs = this.#options.clock.now();
    const counted: CountedUsage[] = [];
    let asOfMs = nowMs;
    for (const part of requiredParts(operator, range, granularity, nowMs)) {
      const { readAtMs, usage } = await this.#readPart(question, part);
      counted.push(...usage);
      asOfMs = Math.min(asOfMs, readAtMs);
    }
    return { totals: sumUsage(counted, granularity), asOf: Math.floor(asOfMs / 1000) };
  }

  /** Questions for the same SIM wait for each other: the second one finds the answer of the first. */
  async #readPart(question: OperatorUsageQuestion, part: RangePart) {
    const { store, stopping } = this.#options;
    const { asset, sim } = question;
    const counted: CountedSim = { assetUuid: asset.uuid, type: sim.type, period: part.period };
    using _lock = await this.#locks.acquire(keyOf(counted), stopping);
    const known = await store.findCoverage(counted);
    const { readAtMs } = await this.#refresh(question, counted, part, known);
    return { readAtMs, usage: await store.listUsage(counted, part) };
  }

  /** Calls the operator, unless it did not answer about this SIM lately. */
  async #ask<T>(counted: CountedSim, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, stopping } = this.#options;
    const key = keyOf(counted);
    const unanswered = this.#unanswered.get(key);
    if (unanswered) throw unanswered;
    try {
      return await callOperator(clock, stopping, call);
    } catch (error) {
      if (error instanceof SimOperatorError && error.failure === "unavailable") {
        this.#unanswered.set(key, error);
        clock.timer(UNANSWERED_MS, () => this.#unanswered.delete(key));
      }
      throw error;
    }
  }

  async #refresh(
    { sim, operator, finalizedUntil }: OperatorUsageQuestion,
    counted: CountedSim,
    part: RangePart,
    known: UsageCoverage | undefined,
  ): Promise<UsageCoverage> {
    const { store, clock, logger, refreshMs } = this.#options;
    const nowMs = clock.now();
    const needed = neededDays(part, nowMs);
    const { ranges, coverage } = planReading(known, { needed, nowMs, finalizedUntil, refreshMs });
    if (ranges.length === 0) return coverage;
    try {
      const usage: CountedUsage[] = [];
      for (const range of ranges) {
        const read = (signal: AbortSignal) => operator.readUsage(sim, range, part.period, signal);
        for (const { bucket, periodStart = range.start, bytes } of await this.#ask(counted, read))
          usage.push({ bucket, start: periodStart, bytes });
      }
      await store.replaceUsage(counted, ranges, usage, coverage);
      return coverage;
    } catch (error) {
      if (!(error instanceof SimOperatorError) || !known || !isAnswered(known, needed)) throw error;
      logger.warn({ err: error, asset: counted.assetUuid, sim: sim.type }, "SIM operator did not answer the usage");
      return known;
    }
  }
}

/** What has to be counted in which periods: hours only where they are asked for, or where the range cuts a day. */
function requiredParts(
  { usagePeriod }: SimOperator,
  range: TimeRange,
  granularity: Granularity,
  nowMs: number,
): readonly RangePart[] {
  if (usagePeriod === "day") {
    if (granularity === "hour") throw notAvailable();
    return nonEmpty({ ...daysOf(range), period: "day" });
  }
  if (granularity === "hour") return nonEmpty({ ...hoursOf(range), period: "hour" });
  // Nothing has been used after now: the day that is not over counts as a whole.
  const isUntilNow = range.end >= Math.floor(nowMs / 1000) - 1;
  return partsOf(isUntilNow ? { start: range.start, end: neededDays(range, nowMs).end } : range);
}

function nonEmpty(part: RangePart): readonly RangePart[] {
  return part.start < part.end ? [part] : [];
}

function notAvailable(): EdgeError {
  return new EdgeError("GranularityNotAvailable", "The SIM operator counts the usage of this SIM by day.", {
    granularity: "hour",
    available: ["all", "day", "month"],
  });
}

function keyOf({ assetUuid, type, period }: CountedSim): string {
  return `${assetUuid} ${type} ${period}`;
}
