import { expect, test, vi } from "vitest";
import { type AcquireLease, LeasedLoop } from "../../../../src/control-plane/instances/leased-loop.ts";
import { SharedRole } from "../../../../src/control-plane/instances/shared-role.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { Logger } from "../../../../src/lib/logger.ts";

const logger = { warn: vi.fn(), error: vi.fn(), info: vi.fn(), debug: vi.fn() } as unknown as Logger;

/** Roles of two instances that share a lease, whose time the test sets. */
function roles() {
  let nowMs = 1_000;
  let held: { readonly by: string; readonly untilMs: number } | undefined;
  const leases = {
    acquire: async (_name: string, by: string, atMs: number, untilMs: number) => {
      if (held && held.by !== by && held.untilMs > atMs) return undefined;
      held = { by, untilMs };
      return 1;
    },
    release: async (_name: string, by: string) => {
      if (held?.by === by) held = undefined;
    },
  };
  const options = (instanceId: string, isShared = true) => ({
    store: { isShared, leases },
    instanceId,
    clock: { serviceNow: () => nowMs },
    logger,
    lease: "work",
    leaseMs: 100,
  });
  const role = (instanceId: string, isShared?: boolean) => new SharedRole(options(instanceId, isShared));
  return { options, role, pass: (ms: number) => (nowMs += ms) };
}

test("one instance has a role at a time, until its lease lapses or it is released", async () => {
  const { role, pass } = roles();
  const [one, two] = [role("one"), role("two")];
  expect(await one.acquire()).toBe(true);
  expect(await two.acquire()).toBe(false);
  expect(await role("alone", false).acquire()).toBe(true);
  pass(100);
  expect(await two.acquire()).toBe(true);
  expect(await one.acquire()).toBe(false);
  await two.release();
  expect(await one.acquire()).toBe(true);
});

test("a loop goes on at once while more is due and pauses after an error, and its end leaves the role", async () => {
  const { options, role } = roles();
  const own = options("one");
  const pauses: number[] = [];
  const clock = {
    ...systemClock,
    ...own.clock,
    sleep: async (ms: number, signal?: AbortSignal) => {
      pauses.push(ms);
      if (pauses.length === 2) await systemClock.sleep(60_000, signal);
    },
  };
  const results = [true, true, new Error("unavailable"), false];
  const work = vi.fn(async (_signal: AbortSignal, acquire: AcquireLease) => {
    expect(await acquire()).toBe(true);
    const result = results.shift() ?? false;
    if (result instanceof Error) throw result;
    return result;
  });
  const loop = new LeasedLoop({ ...own, clock, pauseMs: () => 5_000, failureMessage: "cannot work", work });
  await vi.waitFor(() => expect(pauses).toEqual([5_000, 5_000]));
  expect(work).toHaveBeenCalledTimes(4);
  expect(await role("two").acquire()).toBe(false);
  await loop[Symbol.asyncDispose]();
  expect(await role("two").acquire()).toBe(true);
});
