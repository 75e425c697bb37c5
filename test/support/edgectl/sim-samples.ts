import type { DataUsage } from "../../../src/edgectl/api/usage.ts";
import type { Sim } from "../../../src/edgectl/api/sims.ts";

/** 2026-11-23 12:00 UTC. */
export const NOW = Date.UTC(2026, 10, 23, 12) / 1000;

export function someSim(fields: Partial<Sim> = {}): Sim {
  return {
    type: "supersim",
    iccid: "8988307000001234567",
    asset_id: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11",
    asset_name: "Pump house 7",
    serial_number: "GW-1",
    status: "active",
    operator_status: "active",
    network_group: "default_1gb",
    lost: false,
    checked_at: NOW - 90,
    ...fields,
  };
}

interface DayFields {
  readonly pulls?: number;
  readonly control?: number;
  readonly overhead?: number;
  readonly interfaces?: Readonly<Record<string, number>>;
}

const received = (bytes: number) => ({ sent_bytes: 0, received_bytes: bytes });

export function someDay(day: string, fields: DayFields): DataUsage["days"][number] {
  const { pulls = 0, control = 0, overhead = 0, interfaces = {} } = fields;
  return {
    day,
    by_purpose: { pulls: received(pulls), control: { sent_bytes: control, received_bytes: 0 } },
    overhead_estimate_bytes: overhead,
    by_app: {},
    interfaces: Object.fromEntries(Object.entries(interfaces).map(([name, bytes]) => [name, received(bytes)])),
  };
}

/** Usage by day, in bytes, of one SIM that is final up to the given day. */
export function someDataUsage(
  days: DataUsage["days"],
  sims: readonly {
    readonly type?: string;
    readonly finalUntil?: string;
    readonly days: Readonly<Record<string, number>>;
  }[],
  reportedAt: number | null = NOW,
): DataUsage {
  return {
    from: "2026-11-01",
    to: "2026-11-23",
    live: true,
    reported_at: reportedAt,
    days,
    sims: sims.map(({ type = "supersim", finalUntil = "2026-11-01", days: totals }) => ({
      sim_type: type,
      finalized_until: Date.parse(finalUntil) / 1000,
      days: Object.entries(totals).map(([day, total]) => ({ day, total })),
    })),
  };
}
