import type { AppFigures } from "../../src/protocol/link/app-health.ts";
import { HEALTH_METRICS } from "../../src/protocol/link/device-health.ts";
import type { HealthSpreads, Spread } from "../../src/protocol/link/health-points.ts";

/** Returns numbers from 0 to `max` that are the same in each run. */
function random(max: number): number {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return (seed / 2 ** 31) * max;
}
let seed = 7;

const spread = (middle: number, below: number, above: number): Spread => [
  middle - random(below),
  middle,
  middle + random(above),
];

/** How a busy gateway with a modem was in five minutes. @param count number of the row */
export const BUSY = (count: number): HealthSpreads => ({
  cpu_percent: spread(15 + random(25), 12, 55),
  memory_percent: spread(58 + random(4), 2, 6),
  swap_percent: spread(3, 0, 0),
  disk_percent: spread(61 + count / 144, 0.1, 0.1),
  inodes_percent: spread(12, 0, 0),
  temperature_celsius: spread(52 + random(4), 3, 6),
  throttled_percent: count % 40 === 0 ? [0, 20, 100] : [0, 0, 0],
  signal_percent: spread(64 + random(4), 0, 0),
  rsrp_dbm: spread(-101 + random(6), 0, 0),
  rsrq_db: spread(-11 + random(3), 0, 0),
  sinr_db: spread(8 + random(5), 0, 0),
  roaming_percent: [100, 100, 100],
  mobile_generation: count % 30 === 0 ? [3, 3, 3] : [4, 4, 4],
});
export const RESTING = (): HealthSpreads => ({
  cpu_percent: spread(2 + random(1), 1, 4),
  memory_percent: spread(31 + random(0.4), 0, 0),
  swap_percent: spread(0, 0, 0),
  disk_percent: spread(20, 0, 0),
  inodes_percent: spread(5, 0, 0),
  temperature_celsius: spread(41 + random(1), 0.5, 0.5),
});
export const JUMPING = (count: number): HealthSpreads =>
  Object.fromEntries(HEALTH_METRICS.map((metric) => [metric, count % 6 < 3 ? [0, 100, 100] : [0, 0, 100]] as const));

/** What an app of this kind used in 15 minutes. */
const USED = {
  busy: (size: number) => ({
    cpu_percent: [5 + random(10), 20 + random(60)] as const,
    memory_bytes: [size * (1 + random(0.08)), size * (1.1 + random(0.2))] as const,
    restarts: random(40) < 1 ? 1 : 0,
  }),
  resting: (size: number) => ({
    cpu_percent: [0.3 + random(0.1), 1 + random(0.5)] as const,
    memory_bytes: [size, size * 1.01] as const,
    restarts: 0,
  }),
  jumping: (size: number) => ({
    cpu_percent: [random(400), 400] as const,
    memory_bytes: [size * random(40), size * 40] as const,
    restarts: 15,
  }),
};
const APPS = ["node-red", "mosquitto", "influxdb"];

/** Three apps in 15 minutes. */
export function usedApps(kind: keyof typeof USED): ReadonlyMap<string, AppFigures> {
  return new Map(APPS.map((name, index) => [name, USED[kind](5e7 * (index + 1))]));
}
