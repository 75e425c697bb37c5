import { expect, test } from "vitest";
import {
  BYTES_PER_EXTRA_REPORT,
  FRAME_FACTOR,
  FrameRateLimiter,
  MAX_BURST_BYTES,
  MAX_BURST_EVENTS,
  MAX_BURST_MS,
  MAX_BURST_REPORTS,
  MAX_BYTES_PER_SECOND,
  MAX_EVENTS_PER_SECOND,
  MAX_MS_PER_SECOND,
  MAX_REPORTS_PER_SECOND,
  MIN_CHARGED_BYTES,
} from "../../../../../src/control-plane/devices/hub/frame-rate-limiter.ts";
import type { AgentFrame } from "../../../../../src/protocol/link/frames.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const ASSET = "asset";
const ACK: AgentFrame = { type: "ack", deployment_id: "dep_1" };
const { signal } = new AbortController();

function hello(count: number): AgentFrame {
  const deployments = Array.from({ length: count }, (_, index) => ({ deployment_id: `dep_${index}` }));
  return { type: "hello", protocol: 1, agent_version: "0", deployments };
}

/** Delay of the next frame about a deployment, in milliseconds. */
async function wait(clock: FakeClock, pace: FrameRateLimiter, frame: AgentFrame = ACK): Promise<number> {
  const before = clock.monotonic();
  const turn = pace.acquireForFrame(ASSET, frame, 100, signal);
  await clock.advance(clock.untilNext ?? 0);
  await turn;
  return clock.monotonic() - before;
}

test("a hello counts for itself and for each deployment it names", async () => {
  const clock = new FakeClock();
  const pace = new FrameRateLimiter(clock);
  expect(await wait(clock, pace, hello(MAX_BURST_EVENTS - 1))).toBe(0);
  expect(await wait(clock, pace, hello(MAX_EVENTS_PER_SECOND - 1))).toBe(1_000);
});

test("reconciled deployments are charged to their device, and to no other", async () => {
  const clock = new FakeClock();
  const pace = new FrameRateLimiter(clock);
  pace.chargeDeployments("another", 10 * MAX_BURST_EVENTS);
  pace.chargeDeployments(ASSET, MAX_BURST_EVENTS + MAX_EVENTS_PER_SECOND - 1);
  expect(await wait(clock, pace)).toBe(1_000);
});

test("every message is charged when it arrives, small ones as more than they are and data of streams as less than others", async () => {
  const clock = new FakeClock();
  const pace = new FrameRateLimiter(clock);
  for (let count = 0; count < MAX_BURST_BYTES / MIN_CHARGED_BYTES; count++) pace.chargeBytes(ASSET, 0, false);
  expect(pace.waitMs(ASSET)).toBeCloseTo(0);
  pace.chargeBytes(ASSET, MAX_BYTES_PER_SECOND / 2, true);
  pace.chargeBytes(ASSET, MAX_BYTES_PER_SECOND / 2 / FRAME_FACTOR, false);
  expect(pace.waitMs(ASSET)).toBeCloseTo(1_000);
  expect(pace.waitMs("another")).toBe(0);
  let isWithin = false;
  void pace.untilWithin(ASSET, signal).then(() => (isWithin = true));
  await clock.advance(990);
  // Another connection of the device: both wait for it.
  pace.chargeBytes(ASSET, MAX_BYTES_PER_SECOND, true);
  await clock.advance(990);
  expect(isWithin).toBe(false);
  await clock.advance(30);
  expect(isWithin).toBe(true);
});

test("a dear frame is read at once, and the next one waits until its device is within its share of the processor", async () => {
  const clock = new FakeClock();
  const pace = new FrameRateLimiter(clock);
  const dear = 1024 * 1024;
  let ms = MAX_BURST_MS;
  const read = (bytes: number): void => pace.read(ASSET, bytes, () => clock.pass(ms));
  read(dear);
  expect(pace.waitMs(ASSET)).toBe(0);
  ms = 2 * MAX_MS_PER_SECOND;
  read(dear);
  expect(pace.waitMs(ASSET)).toBeLessThanOrEqual(2_000);
  expect(pace.waitMs(ASSET)).toBeGreaterThan(1_900);
  expect(pace.waitMs("another")).toBe(0);
  // What others on the machine took is not charged: so small a frame costs less.
  ms = 500;
  read(500);
  expect(pace.waitMs(ASSET)).toBeLessThan(2_010);
});

test("a large report is charged as several", async () => {
  const clock = new FakeClock();
  const pace = new FrameRateLimiter(clock);
  const frame = { type: "report", base: null, hash: "", apps: [], removed_apps: [] } as unknown as AgentFrame;
  await pace.acquireForFrame(ASSET, frame, (MAX_BURST_REPORTS - 1) * BYTES_PER_EXTRA_REPORT, signal);
  const before = clock.monotonic();
  const next = pace.acquireForFrame(ASSET, frame, (2 * MAX_REPORTS_PER_SECOND - 1) * BYTES_PER_EXTRA_REPORT, signal);
  await clock.advance(clock.untilNext ?? 0);
  await next;
  expect(clock.monotonic() - before).toBe(2_000);
});
