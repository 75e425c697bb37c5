import type { DeviceDataUsage } from "../../../protocol/link/data-usage.ts";
import type { DataPolicy, MeteredUsage } from "./data-budget.ts";
import type { NetworkKind } from "./network-kind.ts";
import { type Day, monthOf } from "./day.ts";
import type { Bytes, InterfaceEntry, TrafficEntry } from "./entry.ts";

/** Maximum number of deployments listed; the latest are kept. */
const MAX_DEPLOYMENTS = 500;

/** The ledger's entries of a period. */
export interface LedgerView {
  readonly traffic: readonly TrafficEntry[];
  readonly interfaces: readonly InterfaceEntry[];
}

type ByteCounts = { sent_bytes: number; received_bytes: number };
type DayUsage = DeviceDataUsage["days"][number];

/** Returns the bytes that count against the budgets: all traffic of the agent over metered networks, with overhead. */
export function meteredUsage(
  traffic: readonly TrafficEntry[],
  metered: readonly NetworkKind[],
  today: Day | undefined,
): MeteredUsage {
  const usage = { today: 0, thisMonth: 0 };
  if (today === undefined) return usage;
  for (const entry of traffic) {
    if (!metered.includes(entry.network) || entry.day > today || entry.day < monthOf(today)) continue;
    const bytes = entry.sent + entry.received + entry.overhead;
    usage.thisMonth += bytes;
    if (entry.day === today) usage.today += bytes;
  }
  return { today: Math.round(usage.today), thisMonth: Math.round(usage.thisMonth) };
}

/** Converts the ledger to its protocol form: by day, oldest first. */
export function toDataUsage(ledger: LedgerView, policy: DataPolicy, usage: MeteredUsage): DeviceDataUsage {
  const { traffic, interfaces } = ledger;
  const days = [...new Set([...traffic, ...interfaces].map(({ day }) => day))].toSorted();
  return {
    days: days.map((day) =>
      dayUsage(
        day,
        traffic.filter((entry) => entry.day === day),
        interfaces.filter((entry) => entry.day === day),
      ),
    ),
    deployments: deployments(traffic).slice(-MAX_DEPLOYMENTS),
    budget: budget(policy, usage),
  };
}

function dayUsage(day: Day, traffic: readonly TrafficEntry[], interfaces: readonly InterfaceEntry[]): DayUsage {
  const purposes = new Map<string, ByteCounts>();
  const apps = new Map<string, number>();
  const carried = new Map<string, ByteCounts>();
  let overhead = 0;
  for (const entry of traffic) {
    add(purposes, entry.purpose, entry);
    overhead += entry.overhead;
    if (entry.app !== "") apps.set(entry.app, (apps.get(entry.app) ?? 0) + entry.sent + entry.received);
  }
  for (const entry of interfaces) add(carried, entry.name, entry);
  return {
    day,
    by_purpose: Object.fromEntries(purposes),
    overhead_estimate_bytes: Math.max(0, Math.round(overhead)),
    by_app: Object.fromEntries(apps),
    interfaces: Object.fromEntries(carried),
  };
}

/** Returns the usage of each deployment with the last day it used data, in order of these days. */
function deployments(traffic: readonly TrafficEntry[]): DeviceDataUsage["deployments"] {
  const found = new Map<string, DeviceDataUsage["deployments"][number]>();
  for (const { deployment, app, day, sent, received } of traffic) {
    if (deployment === "") continue;
    const before = found.get(deployment);
    found.delete(deployment);
    found.set(deployment, {
      deployment_id: deployment,
      app,
      day,
      sent_bytes: (before?.sent_bytes ?? 0) + sent,
      received_bytes: (before?.received_bytes ?? 0) + received,
    });
  }
  return [...found.values()];
}

function budget({ dailyBytes, monthlyBytes }: DataPolicy, usage: MeteredUsage): DeviceDataUsage["budget"] {
  if (dailyBytes === undefined && monthlyBytes === undefined) return null;
  return {
    monthly_bytes: monthlyBytes ?? null,
    daily_bytes: dailyBytes ?? null,
    used_this_month_bytes: usage.thisMonth,
    used_today_bytes: usage.today,
  };
}

function add(sums: Map<string, ByteCounts>, key: string, { sent, received }: Bytes): void {
  const sum = sums.get(key) ?? { sent_bytes: 0, received_bytes: 0 };
  // A share that is booked separately may be subtracted shortly before the total that contains it is added.
  sum.sent_bytes = Math.max(0, sum.sent_bytes + sent);
  sum.received_bytes = Math.max(0, sum.received_bytes + received);
  sums.set(key, sum);
}
