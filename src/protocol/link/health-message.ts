import type { AppHealthRow } from "./app-health.ts";
import { type AppSteps, readAppRows, writeAppRows } from "./app-health-rows.ts";
import { BitWriter, readBits } from "./bits.ts";
import type { HealthRow } from "./health-points.ts";
import { HEALTH_REPORT_ROW_S, readHealthRows, type RowContext, writeHealthRows } from "./health-rows.ts";

/** The first byte of a binary message of how a device was; streams have the lower ones (`stream-data.ts`). */
const MESSAGE_TYPE = 4;
/** With every value at its longest, and columns of a newer peer. */
const MAX_MESSAGE_BYTES = 32 * 1024;

/** How a device was. */
export interface HealthReport {
  /** 1 to `MAX_HEALTH_ROWS`, the oldest first, at different times. */
  readonly rows: readonly HealthRow[];
  /** What its apps used in whole hours, the oldest first. */
  readonly apps: readonly AppHealthRow[];
}

/** Whether a binary message is one of how the device was, valid or not. */
export function isHealthMessage(message: Uint8Array): boolean {
  return message[0] === MESSAGE_TYPE;
}

/** Encodes the messages of one session, in the order in which they are sent: each refers to the one before. */
export class HealthMessageWriter {
  #rows: RowContext | undefined;
  #steps: AppSteps | undefined;

  write({ rows, apps }: HealthReport): Uint8Array {
    const writer = new BitWriter();
    writer.bits(MESSAGE_TYPE, 8);
    this.#rows = writeHealthRows(rows, HEALTH_REPORT_ROW_S, writer, this.#rows);
    this.#steps = writeAppRows(apps, { base: rows[0]?.at, before: this.#steps }, writer);
    return writer.finish();
  }
}

/** Decodes the messages of one session, in the order in which they were sent. */
export class HealthMessageReader {
  #rows: RowContext | undefined;
  #steps: AppSteps | undefined;

  /** Returns `undefined` if the message is not valid. Never throws. */
  read(message: Uint8Array): HealthReport | undefined {
    if (!isHealthMessage(message) || message.length > MAX_MESSAGE_BYTES) return undefined;
    const found = readBits(message.subarray(1), (reader) => {
      const { rows, context } = readHealthRows(reader, HEALTH_REPORT_ROW_S, this.#rows);
      return { rows, context, apps: readAppRows(reader, { base: rows[0]?.at, before: this.#steps }) };
    });
    if (!found) return undefined;
    const { rows, context, apps } = found;
    this.#rows = context;
    this.#steps = apps.steps;
    return { rows, apps: apps.rows };
  }
}
