import { expect, test } from "vitest";
import { RefusalLog } from "../../../../src/control-plane/accounts/refusal-log.ts";
import type { AuditEntry } from "../../../../src/control-plane/store/audit.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { StoreUnavailableError } from "../../../../src/control-plane/store/unavailable.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { someAudit } from "../../../support/control-plane/people.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function failed(clock: FakeClock, fields: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...someAudit("session.opened"),
    at: Math.floor(clock.now() / 1000),
    actor: { kind: "user", id: "usr_1" },
    source: "192.0.2.1",
    outcome: "SignInFailed",
    ...fields,
  };
}

function setUp() {
  const store = openStore(":memory:");
  const clock = new FakeClock();
  const log = captureLogText();
  return { store, clock, log, refusals: new RefusalLog({ audit: store.audit, clock, logger: log.logger }) };
}

const countsOf = async ({ store }: ReturnType<typeof setUp>): Promise<unknown[]> =>
  (await store.audit.listEntries("acc_1", 1_000)).map(({ details }) => details["count"] ?? 1).toReversed();

test("10,000 attempts of a few kinds are a few entries with their counts, written a few times", async () => {
  const rig = setUp();
  await using store = rig.store;
  let writes = 0;
  const audit = {
    addEntry: (entry: AuditEntry) => (writes++, store.audit.addEntry(entry)),
    setCount: (...values: Parameters<typeof store.audit.setCount>) => (writes++, store.audit.setCount(...values)),
  };
  const refusals = new RefusalLog({ audit, clock: rig.clock, logger: rig.log.logger });
  for (let attempt = 0; attempt < 10_000; attempt++) {
    const actor = { kind: "user", id: `usr_${attempt % 5}` } as const;
    // One site has 64 bits of an IPv6 address.
    const source = `2001:db8:0:${attempt % 2}::${(attempt % 99) + 1}`;
    await refusals.record(failed(rig.clock, { actor, source }));
    if (attempt % 1_000 === 0) await rig.clock.advance(1_000);
  }
  await refusals[Symbol.asyncDispose]();
  const counts = (await countsOf(rig)) as number[];
  expect(counts).toHaveLength(10);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(10_000);
  expect(writes).toBeLessThan(50);
});

test("after 10 minutes the next attempt is an entry of its own", async () => {
  const rig = setUp();
  await using _store = rig.store;
  for (let attempt = 0; attempt < 3; attempt++) await rig.refusals.record(failed(rig.clock));
  await rig.clock.advance(599_000);
  await rig.refusals.record(failed(rig.clock));
  await rig.clock.advance(1_000);
  await rig.refusals.record(failed(rig.clock));
  await rig.refusals.record(failed(rig.clock, { outcome: "Forbidden" }));
  await rig.refusals[Symbol.asyncDispose]();
  expect(await countsOf(rig)).toEqual([4, 1, 1]);
  expect(rig.clock.pending).toBe(0);
});

test("an attempt whose entry cannot be stored is logged, and the next one is stored", async () => {
  const rig = setUp();
  await using store = rig.store;
  let isDown = true;
  const audit = {
    addEntry: async (entry: AuditEntry) => {
      if (isDown) throw new StoreUnavailableError("down");
      return store.audit.addEntry(entry);
    },
    setCount: store.audit.setCount.bind(store.audit),
  };
  const refusals = new RefusalLog({ audit, clock: rig.clock, logger: rig.log.logger });
  await refusals.record(failed(rig.clock));
  expect(rig.log.text()).toContain("cannot write a refusal to the audit log");
  isDown = false;
  await refusals.record(failed(rig.clock));
  expect(await countsOf(rig)).toEqual([1]);
});
