import type { UsageRecord } from "../../../src/control-plane/store/usage.ts";

/** The records as a store takes them. */
export async function* recordsOf(records: readonly UsageRecord[]): AsyncGenerator<UsageRecord> {
  yield* records;
}
