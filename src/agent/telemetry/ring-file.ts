import { closeSync, constants, openSync, readFileSync, writeSync } from "node:fs";
import { z } from "zod";

export interface RingFileOptions<Columns> {
  readonly path: string;
  /** Size of one row. A sector has whole ones, so that a power cut leaves a row or the one before it. */
  readonly slotBytes: 256 | 512;
  readonly slots: number;
  readonly columns: z.ZodType<Columns>;
}

/** One row. */
export interface RingRow<Columns> {
  /** Counts the rows of a device, from 1. */
  readonly number: number;
  /** Unix seconds. */
  readonly at: number;
  readonly columns: Columns;
}

/**
 * The newest rows in a file of fixed size, each in its place: one write of one slot for each row, and no sync. A power cut may take
 * what came within half a minute. Nothing of it is kept in memory.
 */
export class RingFile<Columns> {
  readonly #options: RingFileOptions<Columns>;
  readonly #schema: z.ZodType<[number, number, Columns]>;
  #lastNumber: number | undefined;

  constructor(options: RingFileOptions<Columns>) {
    this.#options = options;
    this.#schema = z.tuple([z.int().min(1), z.int().min(0), options.columns]) as z.ZodType<[number, number, Columns]>;
  }

  /** Returns the rows that can be read, in no order. */
  rows(): RingRow<Columns>[] {
    const { slotBytes } = this.#options;
    const bytes = this.#read();
    const rows: RingRow<Columns>[] = [];
    for (let offset = 0; offset + slotBytes <= bytes.length; offset += slotBytes) {
      const row = this.#parse(bytes.toString("latin1", offset, offset + slotBytes));
      if (row) rows.push(row);
    }
    return rows;
  }

  /** Writes a row over the oldest one; returns false if it is too long. Throws if the file cannot be written. */
  add(at: number, columns: Columns): boolean {
    const { path, slotBytes, slots } = this.#options;
    this.#lastNumber ??= this.rows().reduce((last, row) => Math.max(last, row.number), 0);
    const number = this.#lastNumber + 1;
    const text = JSON.stringify([number, at, columns]);
    if (text.length >= slotBytes) return false;
    const slot = Buffer.alloc(slotBytes, " ");
    slot.write(text, "latin1");
    slot.write("\n", slotBytes - 1);
    const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
    try {
      writeSync(file, slot, 0, slotBytes, (number % slots) * slotBytes);
    } finally {
      closeSync(file);
    }
    this.#lastNumber = number;
    return true;
  }

  #read(): Buffer {
    const { path, slotBytes, slots } = this.#options;
    try {
      return readFileSync(path).subarray(0, slotBytes * slots);
    } catch {
      return Buffer.alloc(0);
    }
  }

  #parse(text: string): RingRow<Columns> | undefined {
    if (text.startsWith("\0")) return undefined;
    try {
      const [number, at, columns] = this.#schema.parse(JSON.parse(text));
      return { number, at, columns };
    } catch {
      // One that was torn by a power cut, or damaged.
      return undefined;
    }
  }
}
