import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
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

/** Size of one row. A sector has whole ones, so that a power cut leaves a row or the one before it. */
const SLOT_BYTES = 256;
const SLOTS = HEALTH_KEPT_S / HEALTH_ROW_S;
export const MAX_RING_BYTES = SLOTS * SLOT_BYTES;

const value = z.number().min(MIN_HEALTH_VALUE).max(MAX_HEALTH_VALUE);
const slotSchema = z.tuple([
  z.int().min(1),
  z.int().min(0),
  z.array(z.union([value, z.tuple([value, value, value])]).nullable()).max(HEALTH_METRICS.length),
]);

/**
 * The rows of the last 48 hours in a file of fixed size, each in its place: one write of 256 bytes for each row, and no sync. A
 * power cut may take what came within half a minute. Nothing of it is kept in memory.
 */
export class HealthRing {
  readonly #path: string;
  #lastNumber: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns the rows that can be read, in no order. */
  rows(): NumberedHealthRow[] {
    const bytes = this.#read();
    const rows: NumberedHealthRow[] = [];
    for (let offset = 0; offset + SLOT_BYTES <= bytes.length; offset += SLOT_BYTES) {
      const row = parseSlot(bytes.toString("latin1", offset, offset + SLOT_BYTES));
      if (row) rows.push(row);
    }
    return rows;
  }

  /** Writes a row over the oldest one. Throws if the file cannot be written. */
  add(row: Omit<NumberedHealthRow, "number">): void {
    this.#lastNumber ??= this.rows().reduce((last, { number }) => Math.max(last, number), 0);
    const number = this.#lastNumber + 1;
    const file = openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    try {
      writeSync(file, formatSlot({ number, ...row }), 0, SLOT_BYTES, (number % SLOTS) * SLOT_BYTES);
    } finally {
      closeSync(file);
    }
    this.#lastNumber = number;
  }

  #read(): Buffer {
    try {
      return readFileSync(this.#path).subarray(0, MAX_RING_BYTES);
    } catch {
      return Buffer.alloc(0);
    }
  }
}

function formatSlot({ number, at, spreads }: NumberedHealthRow): Buffer {
  const slot = Buffer.alloc(SLOT_BYTES, " ");
  const text = JSON.stringify([number, at, HEALTH_METRICS.map((metric) => toColumn(spreads[metric]))]);
  if (text.length >= SLOT_BYTES) throw new Error("a row of the health history is too long");
  slot.write(text, "latin1");
  slot.write("\n", SLOT_BYTES - 1);
  return slot;
}

/** A value that did not change, or was measured once, is a number. */
function toColumn(spread: Spread | undefined): Spread | number | null {
  if (!spread) return null;
  const [min, , max] = spread;
  return min === max ? min : spread;
}

function parseSlot(text: string): NumberedHealthRow | undefined {
  if (text.startsWith("\0")) return undefined;
  try {
    const [number, at, columns] = slotSchema.parse(JSON.parse(text));
    const spreads: HealthSpreads = {};
    for (const [index, metric] of HEALTH_METRICS.entries()) {
      const column = columns[index] ?? null;
      if (column !== null) spreads[metric] = typeof column === "number" ? [column, column, column] : column;
    }
    return { number, at, spreads };
  } catch {
    // One that was torn by a power cut, or damaged.
    return undefined;
  }
}
