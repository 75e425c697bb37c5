import type { DeviceDataUsage } from "../../protocol/link/data-usage.ts";
import { utf8ByteLength } from "../../protocol/values/utf8-byte-length.ts";
import type { DayRange } from "./utc-days.ts";

/** Maximum number of entries stored for one device. */
const MAX_DAYS = 400;
const MAX_DEPLOYMENTS = 500;

/** Maximum size of a stored ledger as JSON in UTF-8, in bytes: as much as one frame can hold. */
export const MAX_LEDGER_BYTES = 1024 * 1024;

/** Room for the budget and the JSON around the lists, in bytes. */
const ENVELOPE_BYTES = 1024;

/**
 * Merges a device's answer into its stored ledger, oldest day first. The answer replaces the days it has; the oldest
 * entries beyond the limits are dropped.
 */
export function mergeLedger(stored: DeviceDataUsage | undefined, answer: DeviceDataUsage): DeviceDataUsage {
  const days = keepLatest([...(stored?.days ?? []), ...answer.days], ({ day }) => day);
  const deployments = keepLatest(
    [...(stored?.deployments ?? []), ...answer.deployments],
    ({ day, deployment_id: id }) => `${day} ${id}`,
  );
  const kept = newestThatFit(deployments.slice(-MAX_DEPLOYMENTS), MAX_LEDGER_BYTES - ENVELOPE_BYTES);
  const room = MAX_LEDGER_BYTES - ENVELOPE_BYTES - kept.bytes;
  return { days: newestThatFit(days.slice(-MAX_DAYS), room).entries, deployments: kept.entries, budget: answer.budget };
}

/** Returns the part of a ledger from one day to another, both included. */
export function ledgerInRange(ledger: DeviceDataUsage | undefined, { from, to }: DayRange): DeviceDataUsage {
  const isInRange = ({ day }: { readonly day: string }): boolean => day >= from && day <= to;
  return {
    days: ledger?.days.filter(isInRange) ?? [],
    deployments: ledger?.deployments.filter(isInRange) ?? [],
    budget: ledger?.budget ?? null,
  };
}

function keepLatest<T extends { readonly day: string }>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...byKey.values()].toSorted((one, other) => Number(one.day > other.day) - Number(one.day < other.day));
}

/** Returns the last entries that fit into `maxBytes`. */
function newestThatFit<T>(entries: T[], maxBytes: number): { readonly entries: T[]; readonly bytes: number } {
  let bytes = 0;
  let first = entries.length;
  while (first > 0) {
    const size = utf8ByteLength(JSON.stringify(entries[first - 1])) + 1;
    if (bytes + size > maxBytes) break;
    bytes += size;
    first--;
  }
  return { entries: entries.slice(first), bytes };
}
