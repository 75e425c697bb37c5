import { statfsSync } from "node:fs";
import { join } from "node:path";
import type { HealthSample } from "../core/health/health-row.ts";
import { busyPercent, type CpuTimes, parseCpuTimes, parseMemory, percentOf } from "../core/health/proc-stat.ts";
import { namesIn, textOf } from "./kernel-files.ts";

/** Where Raspberry Pi's firmware says whether it throttles the processor: bits 0 to 3, now. */
const THROTTLED = "devices/platform/soc/soc:firmware/get_throttled";
const THROTTLED_NOW = 0xf;

const MIN_CELSIUS = -50;
const MAX_CELSIUS = 200;

export interface MachineSamplerOptions {
  /** Whose file system is measured. */
  readonly directory: string;
  /** Mount points of procfs and sysfs. */
  readonly proc?: string;
  readonly sys?: string;
}

/** Measures the machine by a few small files of the kernel, without a child process. What cannot be read is left out. */
export class MachineSampler {
  readonly #directory: string;
  readonly #proc: string;
  readonly #sys: string;
  #cpu: CpuTimes | undefined;

  constructor({ directory, proc = "/proc", sys = "/sys" }: MachineSamplerOptions) {
    this.#directory = directory;
    this.#proc = proc;
    this.#sys = sys;
  }

  /** The processors' use is that since the sample before: the first one has none. */
  sample(): HealthSample {
    const { memory, swap } = parseMemory(textOf(join(this.#proc, "meminfo")));
    const found: Partial<Record<keyof HealthSample, number | undefined>> = {
      cpu_percent: this.#cpuPercent(),
      memory_percent: memory,
      swap_percent: swap,
      ...this.#disk(),
      temperature_celsius: this.#temperature(),
      throttled_percent: this.#throttled(),
    };
    return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
  }

  #cpuPercent(): number | undefined {
    const before = this.#cpu;
    this.#cpu = parseCpuTimes(textOf(join(this.#proc, "stat")));
    return before && this.#cpu && busyPercent(before, this.#cpu);
  }

  #disk(): Record<"disk_percent" | "inodes_percent", number | undefined> {
    try {
      const { blocks, bavail, bfree, files, ffree } = statfsSync(this.#directory);
      // As `df`: of what others than root may use.
      const used = blocks - bfree;
      return { disk_percent: percentOf(used, used + bavail), inodes_percent: percentOf(files - ffree, files) };
    } catch {
      return { disk_percent: undefined, inodes_percent: undefined };
    }
  }

  #temperature(): number | undefined {
    const folder = join(this.#sys, "class/thermal");
    const degrees = namesIn(folder)
      .filter((name) => name.startsWith("thermal_zone"))
      .map((name) => textOf(join(folder, name, "temp")).trim())
      .filter((text) => /^-?\d{1,7}$/.test(text))
      .map((text) => Number(text) / 1_000)
      // Sensors that are not connected say anything.
      .filter((celsius) => celsius > MIN_CELSIUS && celsius < MAX_CELSIUS);
    return degrees.length > 0 ? Math.max(...degrees) : undefined;
  }

  #throttled(): number | undefined {
    const text = textOf(join(this.#sys, THROTTLED)).trim();
    if (!/^[\da-f]{1,8}$/i.test(text)) return undefined;
    return (Number.parseInt(text, 16) & THROTTLED_NOW) === 0 ? 0 : 100;
  }
}
