import { expect, test } from "vitest";
import { LeaseLock } from "../../../../src/control-plane/instances/lease-lock.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

/** Its times for deadlines are no whole numbers, as those of a server that is alone. */
class FractionalClock extends FakeClock {
  override serviceNow(): number {
    return super.serviceNow() + 0.5;
  }
}

function setUp() {
  const clock = new FractionalClock();
  const store = openStore(":memory:");
  const { logger } = captureLog();
  const lockOf = (instanceId: string) => new LeaseLock({ leases: store.leases, instanceId, clock, logger });
  return { clock, store, lockOf };
}

const never = new AbortController().signal;

test("of all instances, and of all callers of one, one has the lock at a time, however long it takes", async () => {
  const { clock, store, lockOf } = setUp();
  await using _store = store;
  const [a, b] = [lockOf("ins_1"), lockOf("ins_2")];
  const order: string[] = [];
  const use = async (lock: LeaseLock, who: string, ms: number): Promise<void> => {
    await using _held = await lock.acquire("asset:0b7", never);
    order.push(`${who} begins`);
    await clock.sleep(ms);
    order.push(`${who} ends`);
  };
  const all = Promise.all([use(a, "a", 100_000), use(b, "b", 1_000), use(a, "c", 1_000)]);
  await clock.advance(120_000);
  await all;
  expect(order.slice(0, 2)).toEqual(["a begins", "a ends"]);
  for (let at = 0; at < order.length; at += 2) expect(order[at + 1]).toBe(order[at]?.replace("begins", "ends"));
  expect(order).toHaveLength(6);
  expect(clock.pending).toBe(0);
});

test("the lock of an instance that is gone is free again", async () => {
  const { clock, store, lockOf } = setUp();
  await using _store = store;
  await store.leases.acquire("asset:0b7", "ins_gone", clock.now(), clock.now() + 30_000);
  const waiting = lockOf("ins_1").acquire("asset:0b7", never);
  await clock.advance(31_000);
  await (await waiting)[Symbol.asyncDispose]();
});

test("who gives up waiting leaves nothing behind", async () => {
  const { clock, store, lockOf } = setUp();
  await using _store = store;
  await using held = await lockOf("ins_1").acquire("asset:0b7", never);
  const stopping = new AbortController();
  const lock = lockOf("ins_2");
  const waiting = lock.acquire("asset:0b7", stopping.signal);
  const refused = expect(waiting).rejects.toThrow("stopping");
  await clock.advance(500);
  stopping.abort(new Error("stopping"));
  await refused;
  await held[Symbol.asyncDispose]();
  await using _next = await lock.acquire("asset:0b7", never);
});
