import type { UsageRecord } from "../../../src/control-plane/store/usage.ts";

/** The records in the form that a store takes. */
export async function* recordsOf(records: readonly UsageRecord[]): AsyncGenerator<UsageRecord> {
  yield* records;
}
