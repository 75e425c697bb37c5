import { expect, test } from "vitest";
import {
  AccessWatcher,
  deviceSubject,
  keySubject,
  userSubject,
} from "../../../../src/control-plane/accounts/access-watcher.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { waitFor } from "../../../support/wait-for.ts";

async function setUp() {
  const clock = new FakeClock();
  const state = { changes: 1, signOuts: 1, allowed: true, revoked: 0, checks: 0 };
  const store = { accessVersions: async () => ({ machines: state.changes, people: state.signOuts }) };
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

test("watching that ends and begins again during a check polls as often as before", async () => {
  const clock = new FakeClock();
  const polls: PromiseWithResolvers<void>[] = [];
  const store = {
    accessVersions: async () => {
      const poll = Promise.withResolvers<void>();
      polls.push(poll);
      await poll.promise;
      return { machines: 1, people: 1 };
    },
  };
  const watcher = new AccessWatcher(store, clock, await createLogger({ name: "test", level: "fatal" }));
  const watch = () =>
    watcher.watch(
      "key 1",
      async () => true,
      () => undefined,
    );
  const before = watch();
  await clock.advance(2_000);
  before[Symbol.dispose]();
  using _after = watch();
  polls[0]!.resolve();
  await clock.advance(2_000);
  expect(polls).toHaveLength(2);
  expect(clock.pending).toBe(0);
  polls[1]!.resolve();
  await clock.advance(1_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(polls).toHaveLength(3);
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

test("a person who is signed out is no reason to check devices and keys, nor the reverse", async () => {
  const { clock, state, watch } = await setUp();
  const checks = { devices: 0, keys: 0, users: 0 };
  const count = (what: keyof typeof checks) => async (): Promise<boolean> => {
    checks[what]++;
    return true;
  };
  for (let number = 0; number < 5_000; number++)
    watch.watch(deviceSubject(String(number)), count("devices"), () => undefined);
  watch.watch(keySubject("1"), count("keys"), () => undefined);
  watch.watch(userSubject("1"), count("users"), () => undefined);
  await clock.advance(2_000);
  await waitFor("the first check", () => checks.users === 1);
  expect(checks).toEqual({ devices: 5_000, keys: 1, users: 1 });
  state.signOuts++;
  await clock.advance(2_000);
  await waitFor("the check of people", () => checks.users === 2);
  expect(checks).toEqual({ devices: 5_000, keys: 1, users: 2 });
  state.changes++;
  await clock.advance(2_000);
  await waitFor("the check of keys", () => checks.keys === 2);
  expect(checks).toEqual({ devices: 10_000, keys: 2, users: 2 });
  watch[Symbol.dispose]();
});
