import { z } from "zod";
import {
  HEALTH_KEPT_S,
  HEALTH_METRICS,
  HEALTH_ROW_S,
  MAX_HEALTH_VALUE,
  MIN_HEALTH_VALUE,
} from "../../protocol/link/device-health.ts";
import type { HealthSpreads, Spread } from "../../protocol/link/health-points.ts";
import type { NumberedHealthRow } from "../core/health/health-row.ts";
import { RingFile } from "./ring-file.ts";

const SLOT_BYTES = 256;
const SLOTS = HEALTH_KEPT_S / HEALTH_ROW_S;
export const MAX_RING_BYTES = SLOTS * SLOT_BYTES;

const value = z.number().min(MIN_HEALTH_VALUE).max(MAX_HEALTH_VALUE);
const columnsSchema = z.array(z.union([value, z.tuple([value, value, value])]).nullable()).max(HEALTH_METRICS.length);

/** How the machine was in the last 48 hours, in a file. */
export class HealthRing {
  readonly #file: RingFile<z.output<typeof columnsSchema>>;

  constructor(path: string) {
    this.#file = new RingFile({ path, slotBytes: SLOT_BYTES, slots: SLOTS, columns: columnsSchema });
  }

  /** Returns the rows that can be read, in no order. */
  rows(): NumberedHealthRow[] {
    return this.#file.rows().map(({ number, at, columns }) => ({ number, at, spreads: toSpreads(columns) }));
  }

  /** Writes a row over the oldest one. Throws if the file cannot be written. */
  add({ at, spreads }: Omit<NumberedHealthRow, "number">): void {
    const isWritten = this.#file.add(
      at,
      HEALTH_METRICS.map((metric) => toColumn(spreads[metric])),
    );
    if (!isWritten) throw new Error("a row of the health history is too long");
  }
}

/** A value that did not change, or was measured once, is a number. */
function toColumn(spread: Spread | undefined): [number, number, number] | number | null {
  if (!spread) return null;
  const [min, mean, max] = spread;
  return min === max ? min : [min, mean, max];
}

function toSpreads(columns: z.output<typeof columnsSchema>): HealthSpreads {
  const spreads: HealthSpreads = {};
  for (const [index, metric] of HEALTH_METRICS.entries()) {
    const column = columns[index] ?? null;
    if (column !== null) spreads[metric] = typeof column === "number" ? [column, column, column] : column;
  }
  return spreads;
}
