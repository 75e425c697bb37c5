import { setTimeout as sleep } from "node:timers/promises";
import { loadavg, uptime } from "node:os";
import { cpuTemperature, currentLoad, mem, networkInterfaces, networkStats } from "systeminformation";
import { toInterfaceReadings } from "./interface-reading.ts";
import type { Readings } from "./readings.ts";

/** Time over which the processor load is measured, in milliseconds. */
const LOAD_SAMPLE_MS = 1_000;

/** Measures the machine. Takes about two seconds; what cannot be measured is `null`. */
export async function measure(): Promise<Readings> {
  const [load, memory, temperature, interfaces, counters] = await Promise.all([
    // A reading that this machine does not have is left out.
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

/** The library returns the load since its previous call. */
async function cpuPercent(): Promise<number | null> {
  await currentLoad();
  await sleep(LOAD_SAMPLE_MS);
  const { currentLoad: percent } = await currentLoad();
  return rounded(Math.min(100, Math.max(0, percent)), 1);
}

/** Rounds a value; `null` when it is missing or not finite, such as the temperature of an absent sensor. */
function rounded(value: number | null | undefined, digits: number): number | null {
  return typeof value === "number" && Number.isFinite(value) ? Number(value.toFixed(digits)) : null;
}

function bytes(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) && value > 0 ? value : null;
}
