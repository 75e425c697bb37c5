import type { DeviceDataUsage, TrafficPurpose } from "../../protocol/data-usage.ts";
import type { DataUsageReader } from "../ledger/data-usage-reader.ts";
import type { DataUsed } from "./api.ts";

/** What the agent used today and this month, for whoever stands before the device; `null` where that cannot be read. */
export function dataUsed(report: Pick<DataUsageReader, "thisMonth">): DataUsed | null {
  try {
    const { days, budget, today } = report.thisMonth();
    const byPurpose: Partial<Record<TrafficPurpose, number>> = {};
    for (const { by_purpose: purposes } of days) {
      for (const [purpose, { sent_bytes: sent, received_bytes: received }] of Object.entries(purposes)) {
        byPurpose[purpose as TrafficPurpose] = (byPurpose[purpose as TrafficPurpose] ?? 0) + sent + received;
      }
    }
    return {
      today_bytes: sum(days.filter(({ day }) => day === today)),
      month_bytes: sum(days),
      by_purpose: byPurpose,
      budget,
    };
  } catch {
    // The ledger's own trouble is in the log; the rest of the status is worth more now.
    return null;
  }
}

function sum(days: DeviceDataUsage["days"]): number {
  const bytes = days.flatMap(({ by_purpose: purposes, overhead_estimate_bytes: overhead }) => [
    overhead,
    ...Object.values(purposes).map(({ sent_bytes: sent, received_bytes: received }) => sent + received),
  ]);
  return bytes.reduce((total, part) => total + part, 0);
}
