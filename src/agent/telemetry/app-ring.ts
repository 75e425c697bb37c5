import { z } from "zod";
import { appName } from "../../protocol/apps/app-fields.ts";
import {
  type AppFigures,
  type AppHealthRow,
  cpuOfStep,
  largestApps,
  MAX_CPU_STEP,
  MAX_MEMORY_STEP,
  MAX_RESTARTS,
  MAX_ROW_APPS,
  memoryOfStep,
  stepOfCpu,
  stepOfMemory,
} from "../../protocol/link/app-health.ts";
import { HEALTH_KEPT_S } from "../../protocol/link/device-health.ts";
import { HEALTH_REPORT_ROW_S } from "../../protocol/link/health-rows.ts";
import { RingFile } from "./ring-file.ts";

const SLOT_BYTES = 512;
const SLOTS = HEALTH_KEPT_S / HEALTH_REPORT_ROW_S;
export const MAX_APP_RING_BYTES = SLOTS * SLOT_BYTES;

const stepsUpTo = (max: number) => z.tuple([z.int().min(0).max(max), z.int().min(0).max(max)]).nullable();
const columnSchema = z.tuple([
  appName,
  stepsUpTo(MAX_CPU_STEP),
  stepsUpTo(MAX_MEMORY_STEP),
  z.int().min(0).max(MAX_RESTARTS),
]);
type Column = z.output<typeof columnSchema>;

/** What apps used in the last 48 hours, in rows of 15 minutes, in a file. */
export class AppRing {
  readonly #file: RingFile<Column[]>;

  constructor(path: string) {
    const columns = z.array(columnSchema).max(MAX_ROW_APPS);
    this.#file = new RingFile({ path, slotBytes: SLOT_BYTES, slots: SLOTS, columns });
  }

  /** Returns the rows that can be read, in no order. */
  rows(): AppHealthRow[] {
    return this.#file.rows().map(({ at, columns }) => ({ at, apps: new Map(columns.map(toFigures)) }));
  }

  /**
   * Writes a row over the oldest one, with the apps with the most memory: `MAX_ROW_APPS`, or as many as fit with their names. Throws
   * if the file cannot be written.
   */
  add({ at, apps }: AppHealthRow): void {
    for (let most = Math.min(MAX_ROW_APPS, apps.size); most > 0; most--)
      if (this.#file.add(at, [...largestApps(apps, most)].map(toColumn))) return;
  }
}

function toColumn([name, { cpu_percent: cpu, memory_bytes: memory, restarts }]: readonly [string, AppFigures]): Column {
  return [
    name,
    cpu ? [stepOfCpu(cpu[0]), stepOfCpu(cpu[1])] : null,
    memory ? [stepOfMemory(memory[0]), stepOfMemory(memory[1])] : null,
    Math.min(MAX_RESTARTS, restarts),
  ];
}

function toFigures([name, cpu, memory, restarts]: Column): [string, AppFigures] {
  const figures: AppFigures = {
    ...(cpu && { cpu_percent: [cpuOfStep(cpu[0]), cpuOfStep(cpu[1])] as const }),
    ...(memory && { memory_bytes: [memoryOfStep(memory[0]), memoryOfStep(memory[1])] as const }),
    restarts,
  };
  return [name, figures];
}
