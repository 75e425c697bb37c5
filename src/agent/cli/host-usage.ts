import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism, freemem, loadavg, totalmem } from "node:os";
import { join } from "node:path";

/** The machine's load, memory and temperature, as any user can read them. */
export interface HostUsage {
  readonly processors: number;
  /** Average of the last minute. */
  readonly load: number;
  readonly memory_bytes: number;
  readonly memory_available_bytes: number;
  /** Hottest zone; `null` without a sensor. */
  readonly temperature_celsius: number | null;
}

export function readHostUsage(zones: string = "/sys/class/thermal"): HostUsage {
  return {
    processors: availableParallelism(),
    load: loadavg()[0] ?? 0,
    memory_bytes: totalmem(),
    memory_available_bytes: freemem(),
    temperature_celsius: hottest(zones),
  };
}

function hottest(zones: string): number | null {
  const degrees = names(zones).flatMap((name) => {
    const millidegrees = Number(read(join(zones, name, "temp")) || Number.NaN);
    // A sensor that is off reads as zero or a large negative value.
    return millidegrees > 0 && millidegrees < 200_000 ? [millidegrees / 1000] : [];
  });
  return degrees.length > 0 ? Math.max(...degrees) : null;
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name.startsWith("thermal_zone"));
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
}
