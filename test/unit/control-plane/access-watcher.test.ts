import { expect, test } from "vitest";
import { AccessWatcher } from "../../../src/control-plane/access-watcher.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { FakeClock } from "../../support/fake-clock.ts";

async function setUp() {
  const clock = new FakeClock();
  const state = { changes: 1, allowed: true, revoked: 0, checks: 0 };
  const store = { dataVersion: async () => state.changes };
  const watch = new AccessWatcher(store, clock, await createLogger({ name: "test", level: "fatal" }));
  const start = (): Disposable =>
    watch.watch(
      "key 1",
      async () => {
        state.checks++;
        return state.allowed;
      },
      () => state.revoked++,
    );
  return { clock, state, watch, start };
}

test("a revocation by another process is noticed within seconds, once", async () => {
  const { clock, state, start } = await setUp();
  using _watching = start();
  await clock.advance(10_000);
  expect(state.revoked).toBe(0);
  state.allowed = false;
  state.changes++;
  await clock.advance(2_000);
  expect(state.revoked).toBe(1);
  await clock.advance(60_000);
  expect(state.revoked).toBe(1);
});

test("nothing is checked without a change by another process, and nothing runs while nothing is watched", async () => {
  const { clock, state, start } = await setUp();
  const watching = start();
  await clock.advance(60_000);
  expect(state.checks).toBe(1);
  watching[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});

test("a revocation by this process is noticed at once", async () => {
  const { state, start, watch } = await setUp();
  using _watching = start();
  state.allowed = false;
  await watch.recheck("key 2");
  expect(state.checks).toBe(0);
  await watch.recheck("key 1");
  expect(state.revoked).toBe(1);
});
