import { expect, test } from "vitest";
import { InProcessBus } from "../../../../src/control-plane/bus/in-process-bus.ts";
import { appendEvent } from "../../../../src/control-plane/core/event-log.ts";
import { readEvents } from "../../../../src/control-plane/deployments/event-reader.ts";
import { eventsTopic } from "../../../../src/control-plane/deployments/executor.ts";
import type { DeploymentStore } from "../../../../src/control-plane/store/deployments.ts";
import { openStore } from "../../../../src/control-plane/store/sqlite/open-store.ts";
import type { DeploymentStatus } from "../../../../src/protocol/deployments/deployment-event.ts";
import { receivedDeployment } from "../../../support/deployment-record.ts";
import { StreamPoller } from "../../../../src/control-plane/deployments/stream-poller.ts";
import { captureLog } from "../../../support/link/log-capture.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { createDeployment, updateDeployment } from "../../../support/store-deployment.ts";

async function setUp(change: Partial<DeploymentStore> = {}, intervalMs?: number) {
  const store = openStore(":memory:");
  const bus = new InProcessBus();
  const clock = new FakeClock();
  const deployment = { ...receivedDeployment(), lastSeq: 0, lastEvent: undefined };
  const first = receivedDeployment().lastEvent;
  if (!first) throw new Error("no first event");
  await createDeployment(store.deployments, deployment, first);
  // As they are before a test changes them for the reader.
  const writing = {
    findDeployment: store.deployments.findDeployment.bind(store.deployments),
    updateDeployment: store.deployments.updateDeployment.bind(store.deployments),
  };
  const logger = captureLog().logger;
  const poller = new StreamPoller({ store: store.deployments, clock, logger, intervalMs });
  const leave = new AbortController();
  const drain = new AbortController();
  const read = (after: number) =>
    readEvents(deployment.id, after, {
      store: Object.assign(store.deployments, change),
      bus,
      clock,
      poller,
      idleMs: 15_000,
      drain: drain.signal,
      signal: leave.signal,
    });
  const add = async (status: DeploymentStatus, isLost = false): Promise<void> => {
    await updateDeployment(writing, deployment.id, (current) =>
      appendEvent(current, { status, message: "x", step: "pulling" }, clock.now()),
    );
    if (!isLost) bus.publish(eventsTopic(deployment.id));
  };
  return { clock, read, add, leave, drain };
}

async function collect(reader: ReturnType<typeof readEvents>): Promise<number[]> {
  const seqs: number[] = [];
  for await (const batch of reader) seqs.push(...batch.map(({ seq }) => seq));
  return seqs;
}

test("stored and new events are one sequence, with each event once", async () => {
  const { read, add } = await setUp();
  for (let count = 0; count < 250; count++) await add("Running");
  const fromStart = collect(read(0));
  const fromMiddle = collect(read(100));
  for (let count = 0; count < 250; count++) await add("Running");
  await add("Success");
  expect(await fromStart).toEqual(Array.from({ length: 502 }, (_, index) => index + 1));
  expect(await fromMiddle).toEqual(Array.from({ length: 402 }, (_, index) => index + 101));
});

test("reading a finished deployment ends at once, also if there is nothing new", async () => {
  const { read, add } = await setUp();
  await add("Fail");
  expect(await collect(read(0))).toEqual([1, 2]);
  expect(await collect(read(2))).toEqual([]);
  expect(await collect(read(1000))).toEqual([]);
});

test("an empty batch is yielded at once if nothing is stored, and after every idle time", async () => {
  const { read, add, clock } = await setUp();
  const reader = read(1);
  expect(await reader.next()).toEqual({ done: false, value: [] });
  const idle = reader.next();
  await clock.advance(15_000);
  expect(await idle).toEqual({ done: false, value: [] });
  const next = reader.next();
  await clock.advance(14_999);
  await add("Running");
  expect((await next).value).toMatchObject([{ seq: 2 }]);
  await reader.return();
});

test("a client that leaves ends the reading, and no timer or listener stays", async () => {
  const { read, clock, leave } = await setUp();
  const reader = read(1);
  await reader.next();
  const next = reader.next();
  leave.abort();
  expect((await next).done).toBe(true);
  expect(clock.pending).toBe(0);
});

test("draining reads what is stored and ends", async () => {
  const { read, add, drain } = await setUp();
  const reader = read(1);
  await reader.next();
  const next = reader.next();
  await add("Running");
  drain.abort();
  expect((await next).value).toMatchObject([{ seq: 2 }]);
  expect((await reader.next()).done).toBe(true);
});

test("the whole deployment, which may be large, is not read", async () => {
  const { read, add } = await setUp({
    findDeployment: () => Promise.reject(new Error("read as a whole")),
  });
  const reading = collect(read(0));
  await add("Running");
  await add("Success");
  expect(await reading).toEqual([1, 2, 3]);
});

test("if counted events are missing it waits as usual, instead of reading in a loop", async () => {
  let reads = 0;
  const { read, add, leave } = await setUp({
    readEvents: async () => {
      if (++reads > 10) throw new Error("asked on and on");
      return { events: [], hasMore: true, isOver: false };
    },
  });
  await add("Running");
  const reader = read(0);
  expect((await reader.next()).value).toEqual([]);
  expect(reads).toBe(1);
  leave.abort();
  await reader.return();
});

test("an event whose message was lost is found when the store is looked at, and nothing is looked at without readers", async () => {
  const { read, add, clock, leave } = await setUp({}, 1_000);
  expect(clock.pending).toBe(0);
  const reader = read(1);
  await reader.next();
  const next = reader.next();
  await clock.advance(500);
  await add("Running", true);
  await clock.advance(500);
  expect((await next).value).toMatchObject([{ seq: 2 }]);
  const last = reader.next();
  leave.abort();
  expect(await last).toMatchObject({ done: true });
  expect(clock.pending).toBe(0);
});
