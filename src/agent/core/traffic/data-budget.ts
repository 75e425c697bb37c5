import { type TimeWindow, nextWithin } from "./time-window.ts";
import type { NetworkKind } from "./network-kind.ts";
import { isClockSet, nextDayMs, nextMonthMs } from "./day.ts";

/** What the configuration allows on networks that cost. */
export interface DataPolicy {
  /** Kinds of network the bounds are for. */
  readonly metered: readonly NetworkKind[];
  readonly dailyBytes: number | undefined;
  readonly monthlyBytes: number | undefined;
  /** For all downloads together. */
  readonly bytesPerSecond: number | undefined;
  /** When downloads may begin; empty for any time. */
  readonly hours: readonly TimeWindow[];
  /** IANA name of the time zone the hours are meant in. */
  readonly timeZone: string;
}

/** What the agent itself has sent and received over metered networks, with what TCP and IP added. */
export interface MeteredUsage {
  readonly today: number;
  readonly thisMonth: number;
}

type WaitReason = "hours" | "daily_budget" | "monthly_budget" | "clock";

export type DownloadDecision =
  | { readonly kind: "admit" }
  | {
      readonly kind: "wait";
      /** Unix milliseconds; `undefined` where nobody can say. */ readonly untilMs: number | undefined;
      readonly reason: WaitReason;
    }
  /** Larger than all there is in a day or a month: waiting does not help. */
  | { readonly kind: "never"; readonly reason: WaitReason; readonly limit: number };

const ADMIT: DownloadDecision = { kind: "admit" };

/**
 * Whether a download of so many bytes may begin on this kind of network. The budgets are of days and months of UTC, as
 * the ledger counts them.
 *
 * @param bytes 0 where that is not known
 */
export function decideDownload(
  policy: DataPolicy,
  network: NetworkKind,
  bytes: number,
  usage: MeteredUsage,
  nowMs: number,
): DownloadDecision {
  if (!policy.metered.includes(network)) return ADMIT;
  const { dailyBytes, monthlyBytes, hours, timeZone } = policy;
  if (monthlyBytes !== undefined && bytes > monthlyBytes)
    return { kind: "never", reason: "monthly_budget", limit: monthlyBytes };
  if (dailyBytes !== undefined && bytes > dailyBytes)
    return { kind: "never", reason: "daily_budget", limit: dailyBytes };
  const isBounded = dailyBytes !== undefined || monthlyBytes !== undefined || hours.length > 0;
  // A device that was just switched on gets its time from the network within moments; until then nothing can be judged.
  if (isBounded && !isClockSet(nowMs)) return { kind: "wait", untilMs: undefined, reason: "clock" };
  if (exceeds(monthlyBytes, usage.thisMonth, bytes)) return wait("monthly_budget", nextMonthMs(nowMs), policy);
  if (exceeds(dailyBytes, usage.today, bytes)) return wait("daily_budget", nextDayMs(nowMs), policy);
  const open = nextWithin(hours, nowMs, timeZone);
  return open === nowMs ? ADMIT : { kind: "wait", untilMs: open, reason: "hours" };
}

/** Also once there is budget again, only within the hours. */
function wait(reason: WaitReason, fromMs: number, { hours, timeZone }: DataPolicy): DownloadDecision {
  return { kind: "wait", untilMs: nextWithin(hours, fromMs, timeZone), reason };
}

function exceeds(limit: number | undefined, used: number, bytes: number): boolean {
  // A download of unknown size begins as long as there is anything left.
  return limit !== undefined && (used + bytes > limit || used >= limit);
}
