import type { DeviceDataUsage } from "../../protocol/data-usage.ts";
import type { SimType } from "../../protocol/sim.ts";

type LedgerDay = DeviceDataUsage["days"][number];
type LedgerDeployment = DeviceDataUsage["deployments"][number];

/** Most of each that is kept of one device. */
const MAX_DAYS = 400;
const MAX_DEPLOYMENTS = 500;

/** What the SIMs of an asset used on one day of UTC, in bytes. */
export interface SimDay {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly simType: SimType;
  readonly bytes: number;
}

/** One day: what the device counted itself, and what its SIMs used by the operator's count. */
export interface UsageDay {
  readonly day: string;
  readonly device: Omit<LedgerDay, "day"> | null;
  readonly sims: { readonly sim_type: SimType; readonly total: number }[];
}

/** Everything a device ever told of what it counted, the later word for each day, oldest first. */
export function mergeLedger(held: DeviceDataUsage | undefined, told: DeviceDataUsage): DeviceDataUsage {
  const days = latest([...(held?.days ?? []), ...told.days], ({ day }) => day);
  const deployments = latest([...(held?.deployments ?? []), ...told.deployments], deploymentKey);
  return { days: days.slice(-MAX_DAYS), deployments: deployments.slice(-MAX_DEPLOYMENTS), budget: told.budget };
}

/** The days from one to another, both included, on which anything was counted. */
export function usageDays(ledger: DeviceDataUsage | undefined, sims: readonly SimDay[], from: string, to: string) {
  const isAsked = ({ day }: { readonly day: string }): boolean => day >= from && day <= to;
  const counted = new Map(ledger?.days.filter(isAsked).map(({ day, ...rest }) => [day, rest]));
  const bySim = Map.groupBy(sims.filter(isAsked), ({ day }) => day);
  const days = [...new Set([...counted.keys(), ...bySim.keys()])].toSorted();
  return {
    days: days.map((day): UsageDay => ({
      day,
      device: counted.get(day) ?? null,
      sims: (bySim.get(day) ?? []).map(({ simType, bytes }) => ({ sim_type: simType, total: bytes })),
    })),
    deployments: ledger?.deployments.filter(isAsked) ?? [],
  };
}

function latest<T extends { readonly day: string }>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...byKey.values()].toSorted((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0));
}

function deploymentKey({ deployment_id: id, day }: LedgerDeployment): string {
  return `${day} ${id}`;
}
