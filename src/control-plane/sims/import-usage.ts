import type { Readable } from "node:stream";
import type { Store } from "../store/store.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { UsageRecord } from "../store/usage.ts";
import { BadLineError, readRecords } from "./read-records.ts";

/** Lines that are named. More are counted. */
const MAX_NAMED_LINES = 50;

export interface ImportOptions {
  /** Skips records of SIMs that no asset has, instead of refusing the file. */
  readonly skipUnknown: boolean;
  /** Unix seconds. */
  readonly now: number;
  /** Returns the entry of the audit log for this result. */
  readonly audit?: (result: ImportResult) => AuditEntry;
}

export interface ImportResult {
  /** Number of records that were new or have changed. */
  readonly imported: number;
  /** Number of records that were there already, or that a later line of the file replaces. */
  readonly unchanged: number;
  /** Number of lines skipped because no asset has the SIM. */
  readonly skipped: number;
}

/**
 * Imports the usage records of a CSV file: all of them, or none when lines are not valid. Importing a file again changes
 * nothing. Throws `BadLineError`, also for unknown SIMs unless `skipUnknown` is set.
 */
export async function importUsage(
  store: Pick<Store, "sims" | "usage">,
  source: Readable,
  { skipUnknown, now, audit }: ImportOptions,
): Promise<ImportResult> {
  const known = new Map<string, boolean>();
  const problems = new RowProblems();
  let skipped = 0;
  let read = 0;
  async function* records(): AsyncGenerator<UsageRecord> {
    try {
      for await (const found of readRecords(source, now)) {
        if ("problem" in found) {
          problems.add(found.line, found.problem);
          continue;
        }
        const { line, record } = found;
        const isKnown = known.get(record.iccid) ?? (await store.sims.hasIccid(record.iccid));
        known.set(record.iccid, isKnown);
        if (!isKnown && skipUnknown) skipped++;
        else if (!isKnown) problems.add(line, `no asset has a SIM with the ICCID ${record.iccid}`);
        else if (problems.count === 0) {
          read++;
          yield record;
        }
      }
    } catch (error) {
      if (!(error instanceof BadLineError)) throw error;
      problems.add(error.line, error.message.replace(/^line \d+: /, ""));
    }
    problems.throwIfAny();
  }
  const toResult = (imported: number): ImportResult => ({ imported, unchanged: read - imported, skipped });
  return toResult(await store.usage.recordUsage(records(), audit && ((stored) => audit(toResult(stored)))));
}

/** What is wrong with a file, by line. */
class RowProblems {
  count = 0;
  readonly #named: { readonly line: number; readonly reason: string }[] = [];

  add(line: number, reason: string): void {
    if (this.count++ < MAX_NAMED_LINES) this.#named.push({ line, reason });
  }

  throwIfAny(): void {
    const [first, ...others] = this.#named;
    if (!first) return;
    const more = this.count > this.#named.length ? [`and ${this.count - this.#named.length} more lines`] : [];
    throw new BadLineError(first.line, first.reason, [
      ...others.map(({ line, reason }) => `line ${line}: ${reason}`),
      ...more,
    ]);
  }
}
