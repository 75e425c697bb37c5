import { expect, test } from "vitest";
import {
  MAX_BURST_EVENTS,
  MAX_EVENTS_PER_SECOND,
  FrameRateLimiter,
} from "../../../src/control-plane/hub/frame-rate-limiter.ts";
import type { AgentFrame } from "../../../src/protocol/frames.ts";
import { FakeClock } from "../../support/fake-clock.ts";

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

test("small and refused frames are charged by bytes", async () => {
  const clock = new FakeClock();
  const pace = new FrameRateLimiter(clock);
  for (let count = 0; count < 65_536; count++) await pace.acquireForBytes(ASSET, 0, signal);
  const next = pace.acquireForBytes(ASSET, 0, signal);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  await next;
});
