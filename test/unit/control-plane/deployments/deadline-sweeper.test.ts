import { expect, test } from "vitest";
import { startDeadlineRig } from "../../../support/control-plane/deadline-rig.ts";
import { acknowledged, failed, T0 } from "../../../support/deployment-record.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const ACK_MS = 10_000;
const YEARS_MS = 10 * 365 * 24 * 3_600_000;

const codes = (ended: readonly (readonly [string, number])[]) => ended.map(([code]) => code);

test("one timer, for the earliest deadline of all deployments, also after the time of day has jumped", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  for (let index = 0; index < 5; index++) await rig.receive({ id: `dep_${index}` });
  expect(clock.pending).toBe(1);
  clock.jump(-3_600_000);
  await clock.advance(ACK_MS - 1);
  expect(rig.ended).toEqual([]);
  await clock.advance(1);
  expect(codes(rig.ended)).toEqual(Array.from({ length: 5 }, () => "DeviceNotReachable"));
  expect(clock.pending).toBe(0);
});

test("more deployments than one sweep ends, due at the same time, all end", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  for (let index = 0; index < 120; index++) {
    await rig.receive({ id: `dep_${index}`, assetUuid: `00000000-0000-4000-8000-${String(index).padStart(12, "0")}` });
  }
  await clock.advance(ACK_MS);
  expect(rig.ended).toHaveLength(120);
  expect(new Set(rig.ended.map(([, atMs]) => atMs))).toEqual(new Set([T0 + ACK_MS]));
  expect(clock.pending).toBe(0);
});

test("without unfinished deployments there is no timer", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  rig.sweeper.start();
  await clock.advance(1);
  expect(clock.pending).toBe(0);
  await rig.receive();
  await rig.change({ state: failed() });
  await clock.advance(ACK_MS);
  expect([rig.ended, clock.pending]).toEqual([[], 0]);
});

test("the next deadline counts if the one for which the timer was set was met", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  await rig.receive();
  await rig.change({ state: acknowledged() });
  await clock.advance(ACK_MS);
  expect([rig.ended, clock.pending]).toEqual([[], 1]);
  await clock.advance(900_000 - ACK_MS - 1);
  expect(rig.ended).toEqual([]);
  await clock.advance(1);
  expect(rig.ended).toEqual([["DeploymentTimeout", T0 + 900_000]]);
  expect(clock.pending).toBe(0);
});

test("the timer that was set before the start is not left behind", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  await rig.receive();
  rig.sweeper.start();
  await clock.advance(1);
  expect(clock.pending).toBe(1);
  rig.sweeper[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});

test("an older version that is reported late changes nothing", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  await rig.receive();
  await rig.change({ state: acknowledged() });
  rig.sweeper.note(T0 + 5_000);
  await clock.advance(899_999);
  expect(rig.ended).toEqual([]);
  await clock.advance(1);
  expect(codes(rig.ended)).toEqual(["DeploymentTimeout"]);
});

test.each([YEARS_MS, -YEARS_MS])("deadlines keep their time when the time of day jumps by %s ms", async (jump) => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  await rig.receive();
  clock.jump(jump);
  await rig.change({ state: acknowledged(clock.now()) });
  await clock.advance(899_999);
  expect(rig.ended).toEqual([]);
  await clock.advance(1);
  expect(codes(rig.ended)).toEqual(["DeploymentTimeout"]);
});

test("those of an earlier process are measured anew, also if the clock was set back while it was down", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  await rig.receive({ createdAtMs: T0 + YEARS_MS, deadlineAtMs: T0 + YEARS_MS + 900_000 });
  await rig.change({
    state: { ...acknowledged(), sendingSinceMs: T0 + YEARS_MS },
    finishDueMs: undefined,
    replyDueMs: undefined,
  });
  await rig.resume();
  rig.sweeper.start();
  await clock.advance(899_999);
  expect(rig.ended).toEqual([]);
  await clock.advance(1);
  expect(codes(rig.ended)).toEqual(["DeploymentTimeout"]);
});

test("a sweep is repeated when the store fails, and hears of deadlines meanwhile", async () => {
  const clock = new FakeClock(T0);
  let attempts = 0;
  await using rig = await startDeadlineRig(clock, async () => {
    attempts++;
    await clock.sleep(1_000);
    if (attempts < 3) throw new Error("disk full");
  });
  await rig.receive();
  await clock.advance(ACK_MS + 500);
  await rig.receive({ id: "dep_2" });
  await clock.advance(60_000);
  expect(codes(rig.ended)).toEqual(["DeviceNotReachable", "DeviceNotReachable"]);
  expect(attempts).toBeGreaterThanOrEqual(3);
  expect(clock.pending).toBe(0);
});

test("a disposed sweeper sets no timer", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock);
  rig.sweeper[Symbol.dispose]();
  await rig.receive();
  expect(clock.pending).toBe(0);
});

test("deadlines that other instances have stored are found by reading the store", async () => {
  const clock = new FakeClock(T0);
  await using rig = await startDeadlineRig(clock, undefined, 1_000);
  rig.sweeper.start();
  await clock.advance(1);
  await rig.receiveElsewhere({ finishDueMs: T0 + 900_000, replyDueMs: T0 + 4_500 });
  await clock.advance(4_400);
  expect(rig.ended).toEqual([]);
  await clock.advance(100);
  expect(rig.ended).toEqual([["DeviceNotReachable", T0 + 4_500]]);
  rig.sweeper[Symbol.dispose]();
  expect(clock.pending).toBe(0);
});
