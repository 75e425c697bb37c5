import type { DeviceDataUsage } from "../../protocol/data-usage.ts";
import { utf8ByteLength } from "../../protocol/utf8-byte-length.ts";
import type { DayRange } from "./utc-days.ts";

/** Most of each that is kept of one device. */
const MAX_DAYS = 400;
const MAX_DEPLOYMENTS = 500;

/** What is kept of one device in all, as JSON in UTF-8, in bytes: no more than what it can tell in one frame. */
export const MAX_LEDGER_BYTES = 1024 * 1024;

/** Room for the budget and what stands around the lists, in bytes. */
const ENVELOPE_BYTES = 1024;

/**
 * What a device told of what it counted, the later word for each day, oldest first; the newest where that is more than is
 * kept.
 */
export function mergeLedger(held: DeviceDataUsage | undefined, told: DeviceDataUsage): DeviceDataUsage {
  const days = keepLatest([...(held?.days ?? []), ...told.days], ({ day }) => day);
  const deployments = keepLatest(
    [...(held?.deployments ?? []), ...told.deployments],
    ({ day, deployment_id: id }) => `${day} ${id}`,
  );
  const kept = newestThatFit(deployments.slice(-MAX_DEPLOYMENTS), MAX_LEDGER_BYTES - ENVELOPE_BYTES);
  const room = MAX_LEDGER_BYTES - ENVELOPE_BYTES - kept.bytes;
  return { days: newestThatFit(days.slice(-MAX_DAYS), room).entries, deployments: kept.entries, budget: told.budget };
}

/** The part of a ledger from one day to another, both included. */
export function ledgerInRange(ledger: DeviceDataUsage | undefined, { from, to }: DayRange): DeviceDataUsage {
  const isAsked = ({ day }: { readonly day: string }): boolean => day >= from && day <= to;
  return {
    days: ledger?.days.filter(isAsked) ?? [],
    deployments: ledger?.deployments.filter(isAsked) ?? [],
    budget: ledger?.budget ?? null,
  };
}

function keepLatest<T extends { readonly day: string }>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...byKey.values()].toSorted((one, other) => Number(one.day > other.day) - Number(one.day < other.day));
}

/** As many of the last entries as fit. */
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
