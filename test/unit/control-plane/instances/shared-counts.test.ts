import fc from "fast-check";
import { expect, test } from "vitest";
import { SharedRateCounter } from "../../../../src/control-plane/api/shared-rate-store.ts";
import {
  ConflictRateLimiter,
  MAX_CONFLICTS_PER_HOUR,
} from "../../../../src/control-plane/assets/conflict-rate-limiter.ts";
import { SharedCounts } from "../../../../src/control-plane/instances/shared-counts.ts";
import { ConcurrencyLimiter } from "../../../../src/lib/concurrency-limiter.ts";
import { type Fault, FaultyLink } from "../../../support/bus/faulty-link.ts";
import { MemoryNetwork } from "../../../support/bus/memory-link.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function setUp(instances: number, decide: () => Fault = () => "once") {
  const clock = new FakeClock();
  const network = new MemoryNetwork();
  const links = Array.from({ length: instances }, () => network.join());
  const all = links.map(
    (link, index) => new SharedCounts({ link: new FaultyLink(link, decide), instanceId: `ins_${index}`, clock }),
  );
  /** Time passes, and messages arrive. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 250) {
      await clock.advance(Math.min(250, ms - passed));
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    }
  };
  return { clock, links, all, pass };
}

test("what one instance counts is known to the others a quarter of a second later, and again when it is over", async () => {
  const { clock, all, pass } = setUp(3);
  const [a, b, c] = all;
  a?.set("streams:acc_1", 2);
  b?.set("streams:acc_1", 3);
  await pass(250);
  expect(all.map((counts) => counts.others("streams:acc_1"))).toEqual([3, 2, 5]);
  a?.set("streams:acc_1", 0);
  await pass(250);
  expect(all.map((counts) => counts.others("streams:acc_1"))).toEqual([3, 0, 3]);
  b?.set("streams:acc_1", 0);
  await pass(20_000);
  expect(c?.others("streams:acc_1")).toBe(0);
  // Nothing is left to do.
  expect(clock.pending).toBe(0);
});

test("what an instance that is gone has counted is over after ten seconds", async () => {
  const { links, all, pass } = setUp(2);
  const [a, b] = all;
  a?.set("streams:acc_1", 2);
  await pass(30_000);
  expect(b?.others("streams:acc_1")).toBe(2);
  if (links[0]) links[0].state = "down";
  await pass(11_000);
  expect(b?.others("streams:acc_1")).toBe(0);
  if (links[0]) links[0].state = "up";
  await pass(4_000);
  expect(b?.others("streams:acc_1")).toBe(2);
});

test("whatever is lost or repeated, all agree once messages arrive again", async () => {
  const change = fc.record({
    at: fc.integer({ min: 0, max: 2 }),
    name: fc.constantFrom("a", "b", "c"),
    count: fc.integer({ min: 0, max: 9 }),
    pauseMs: fc.constantFrom(0, 100, 250, 3_000),
    fault: fc.constantFrom<Fault>("lost", "once", "twice"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 30 }), async (changes) => {
      let fault: Fault = "once";
      const { all, pass } = setUp(3, () => fault);
      const own = all.map(() => new Map<string, number>());
      for (const { at, name, count, pauseMs, fault: next } of changes) {
        fault = next;
        all[at]?.set(name, count);
        own[at]?.set(name, count);
        await pass(pauseMs);
      }
      fault = "once";
      await pass(14_000);
      for (const name of ["a", "b", "c"]) {
        const sum = own.reduce((total, counts) => total + (counts.get(name) ?? 0), 0);
        for (const [at, counts] of all.entries()) expect(counts.others(name)).toBe(sum - (own[at]?.get(name) ?? 0));
      }
    }),
    { numRuns: 50 },
  );
});

test("messages that no instance sends change nothing", async () => {
  const { links, all, pass } = setUp(2);
  for (const text of [
    "",
    "{",
    "[]",
    '{"from":"x"}',
    '{"from":"x","counts":[["a",-1]]}',
    '{"from":"x","counts":[["a",1.5]]}',
  ])
    links[0]?.send("counts", Buffer.from(text));
  await pass(250);
  expect(all[1]?.others("a")).toBe(0);
});

test("a limit on what an account has open holds over all instances", async () => {
  const { all, pass } = setUp(2);
  const [a, b] = all.map((counts) => new ConcurrencyLimiter(4, "Too many.", counts.of("streams")));
  const held = [a?.acquire("acc_1"), a?.acquire("acc_1"), a?.acquire("acc_1")];
  await pass(250);
  b?.acquire("acc_1");
  expect(() => b?.acquire("acc_1")).toThrow("Too many.");
  b?.acquire("acc_2");
  held[0]?.[Symbol.dispose]();
  await pass(250);
  b?.acquire("acc_1");
});

test("a limit on requests per minute holds over all instances, except for what arrives within a quarter of a second", async () => {
  const { clock, all, pass } = setUp(3);
  const counters = all.map((counts) => new SharedRateCounter("requests", 100, counts, clock));
  const accepted = () => {
    let count = 0;
    for (const counter of counters) if (counter.count("key_1").current <= 100) count++;
    return count;
  };
  await pass(60_000 - (clock.now() % 60_000));
  let total = 0;
  for (let second = 0; second < 50; second++) {
    for (let request = 0; request < 2; request++) total += accepted();
    await pass(500);
  }
  expect(total).toBeGreaterThanOrEqual(100);
  expect(total).toBeLessThanOrEqual(115);
  const { ttl } = counters[0]?.count("key_1") ?? { ttl: 0 };
  await pass(ttl);
  expect(counters.map((counter) => counter.count("key_1").current)).toEqual([1, 1, 1]);
});

test("conflicts of an account are counted over all instances", async () => {
  const { clock, all, pass } = setUp(2);
  const [a, b] = all.map((counts) => new ConflictRateLimiter(clock, counts.of("conflicts")));
  for (let conflict = 0; conflict < MAX_CONFLICTS_PER_HOUR; conflict++) (conflict % 2 === 0 ? a : b)?.record("acc_1");
  await pass(250);
  expect(() => a?.requireAllowed("acc_1")).toThrow("Too many registrations");
  expect(() => b?.requireAllowed("acc_1")).toThrow("Too many registrations");
  a?.requireAllowed("acc_2");
});
