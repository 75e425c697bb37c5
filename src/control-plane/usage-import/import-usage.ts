import type { Readable } from "node:stream";
import type { Store } from "../store/store.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { UsageRecord } from "../store/usage.ts";
import { BadLineError, readRecords } from "./read-records.ts";

export interface ImportOptions {
  /** Skips records of SIMs that no asset has, instead of refusing the file. */
  readonly skipUnknown: boolean;
  /** Returns the entry of the audit log for this result. */
  readonly audit?: (result: { readonly imported: number; readonly skipped: number }) => AuditEntry;
}

export interface ImportResult {
  /** Number of records stored, without duplicates. */
  readonly imported: number;
  /** Number of lines skipped because no asset has the SIM. */
  readonly skipped: number;
}

/**
 * Imports the usage records of a CSV file: all of them, or none when a line is not valid. Importing a file again changes
 * nothing. Throws `BadLineError`, also for an unknown SIM unless `skipUnknown` is set.
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
  const imported = await store.usage.recordUsage(
    records(),
    options.audit && ((stored) => options.audit?.({ imported: stored, skipped })),
  );
  return { imported, skipped };
}
