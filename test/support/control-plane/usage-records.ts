import type { UsageRecord } from "../../../src/control-plane/store/usage.ts";

/** Yields the records, as the store's input. */
export async function* recordsOf(records: readonly UsageRecord[]): AsyncGenerator<UsageRecord> {
  yield* records;
}
