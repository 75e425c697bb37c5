import type { AppReport, DeviceFacts } from "../../../src/protocol/apps/app-report.ts";
import type { DeviceDataUsage } from "../../../src/protocol/link/data-usage.ts";
import type { DeviceState } from "../../../src/protocol/link/device-state.ts";

/** A device's report of an app. */
export function someApp(name: string, fields: Partial<AppReport> = {}): AppReport {
  return {
    name,
    image: "web:1",
    image_digest: null,
    state: "running",
    desired_state: "running",
    since: 1_790_000_000,
    restarts: 0,
    spec: {
      name,
      image: "web:1",
      environments: [{ key: "TOKEN", value: "***" }],
      ports: [{ host_port: 30_080, target_port: 80 }],
    },
    last_deployment: null,
    ...fields,
  };
}

/** Device facts. */
export function someFacts(fields: Partial<DeviceFacts> = {}): DeviceFacts {
  return {
    agent_version: "0.1.0",
    engine: { kind: "docker", version: "26.1.0" },
    architecture: "arm64",
    os: "Debian GNU/Linux 13",
    kernel: null,
    hostname: "gw-1",
    model: null,
    cpus: 4,
    memory_total_bytes: 1_000_000_000,
    disk_total_bytes: 8_000_000_000,
    ...fields,
  };
}

/** A device's answer to the query `device`. */
export function someState(): DeviceState {
  return {
    ...someFacts(),
    uptime_s: 5,
    agent_uptime_s: 4,
    load_1m: 0.1,
    cpu_percent: 3,
    memory_available_bytes: 500_000_000,
    disk_free_bytes: 4_000_000_000,
    temperature_celsius: 41.5,
    interfaces: [
      { name: "wwan0", kind: "cellular", is_up: true, addresses: ["10.0.0.2"], received_bytes: 1, sent_bytes: 2 },
    ],
    containers: [{ name: "web", app: "web", image: "web:1", status: "running" }],
  };
}

/** One day of a device's ledger. */
export function someLedgerDay(day: string, control: number): DeviceDataUsage["days"][number] {
  return {
    day,
    by_purpose: { control: { sent_bytes: control, received_bytes: control } },
    overhead_estimate_bytes: 40,
    by_app: { web: 12 },
    interfaces: { wwan0: { sent_bytes: 100, received_bytes: 200 } },
  };
}
