import { setTimeout as sleep } from "node:timers/promises";
import { loadavg, uptime } from "node:os";
import { cpuTemperature, currentLoad, mem, networkInterfaces, networkStats } from "systeminformation";
import { toInterfaceReadings } from "./interface-reading.ts";
import type { Readings } from "./readings.ts";

/** Over how long the load of the processors is measured, in milliseconds. */
const LOAD_MS = 1_000;

/** Measures the machine. Takes about two seconds; what cannot be measured is `null`. */
export async function measure(): Promise<Readings> {
  const [load, memory, temperature, interfaces, counters] = await Promise.all([
    cpuPercent().catch(() => null),
    mem().catch(() => undefined),
    cpuTemperature().catch(() => undefined),
    networkInterfaces().catch(() => []),
    networkStats("*").catch(() => []),
  ]);
  return {
    uptime_s: Math.floor(uptime()),
    load_1m: rounded(loadavg()[0], 2),
    cpu_percent: load,
    memory_available_bytes: bytes(memory?.available),
    temperature_celsius: rounded(temperature?.main, 1),
    interfaces: toInterfaceReadings([interfaces].flat(), counters),
  };
}

/** The library tells of the time since it was asked last. */
async function cpuPercent(): Promise<number | null> {
  await currentLoad();
  await sleep(LOAD_MS);
  const { currentLoad: percent } = await currentLoad();
  return rounded(Math.min(100, Math.max(0, percent)), 1);
}

/** Temperatures of chips that are not there read as zero below everything, and the like. */
function rounded(value: number | null | undefined, digits: number): number | null {
  return typeof value === "number" && Number.isFinite(value) ? Number(value.toFixed(digits)) : null;
}

function bytes(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : null;
}
