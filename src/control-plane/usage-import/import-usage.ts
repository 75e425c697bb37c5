import type { Readable } from "node:stream";
import type { Store } from "../store/store.ts";
import type { UsageRecord } from "../store/usage.ts";
import { BadLineError, readRecords } from "./read-records.ts";

export interface ImportOptions {
  /** Leaves out SIMs that no asset has, instead of refusing the file. */
  readonly skipUnknown: boolean;
}

export interface ImportResult {
  /** Records stored, the same one twice counting once. */
  readonly imported: number;
  /** Lines left out because no asset has the SIM. */
  readonly skipped: number;
}

/**
 * Stores the usage records of a CSV file: all of them, or none when a line is wrong. The same file again changes
 * nothing. Throws `BadLineError`, also for a SIM that no asset has unless those are to be skipped.
 */
export async function importUsage(
  store: Pick<Store, "sims" | "usage">,
  source: Readable,
  options: ImportOptions,
): Promise<ImportResult> {
  const known = new Map<string, boolean>();
  let skipped = 0;
  async function* records(): AsyncGenerator<UsageRecord> {
    for await (const { line, record } of readRecords(source)) {
      const isKnown = known.get(record.iccid) ?? (await store.sims.hasIccid(record.iccid));
      known.set(record.iccid, isKnown);
      if (isKnown) yield record;
      else if (options.skipUnknown) skipped++;
      else throw new BadLineError(line, `no asset has a SIM with the ICCID ${record.iccid}`);
    }
  }
  const imported = await store.usage.recordUsage(records());
  return { imported, skipped };
}
