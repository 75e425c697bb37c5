import type { DeviceDataUsage } from "../../protocol/data-usage.ts";
import type { DayRange } from "./utc-days.ts";

/** Most of each that is kept of one device. */
const MAX_DAYS = 400;
const MAX_DEPLOYMENTS = 500;

/** Everything a device ever told of what it counted, the later word for each day, oldest first. */
export function mergeLedger(held: DeviceDataUsage | undefined, told: DeviceDataUsage): DeviceDataUsage {
  const days = latest([...(held?.days ?? []), ...told.days], ({ day }) => day);
  const deployments = latest(
    [...(held?.deployments ?? []), ...told.deployments],
    ({ day, deployment_id: id }) => `${day} ${id}`,
  );
  return { days: days.slice(-MAX_DAYS), deployments: deployments.slice(-MAX_DEPLOYMENTS), budget: told.budget };
}

/** The part of a ledger from one day to another, both included. */
export function ledgerBetween(ledger: DeviceDataUsage | undefined, { from, to }: DayRange): DeviceDataUsage {
  const isAsked = ({ day }: { readonly day: string }): boolean => day >= from && day <= to;
  return {
    days: ledger?.days.filter(isAsked) ?? [],
    deployments: ledger?.deployments.filter(isAsked) ?? [],
    budget: ledger?.budget ?? null,
  };
}

function latest<T extends { readonly day: string }>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...byKey.values()].toSorted((one, other) => Number(one.day > other.day) - Number(one.day < other.day));
}
