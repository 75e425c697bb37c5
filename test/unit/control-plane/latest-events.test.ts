import { expect, test } from "vitest";
import { LatestEvents } from "../../../src/control-plane/store/sqlite/latest-events.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { receivedDeployment, SUCCEEDED, T0 } from "../../support/deployment-record.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const record = receivedDeployment();
const eventOf = (seq: number, message = "x") => ({ seq, json: JSON.stringify({ ...record.lastEvent!, seq, message }) });

test("the latest event is found by a reader that has all before it, and by no other", () => {
  const latest = new LatestEvents();
  latest.add(record, eventOf(2));
  latest.add({ ...record, state: SUCCEEDED }, eventOf(3));
  const events = [eventOf(3)];
  expect(latest.findAfter(record.id, 2)).toMatchObject({ events, hasMore: false, isOver: true });
  for (const after of [0, 1, 3, 4]) expect(latest.findAfter(record.id, after)).toBeUndefined();
  expect(latest.findAfter("dep_other", 2)).toBeUndefined();
});

test("large events and all but a bounded number are read from the database", () => {
  const latest = new LatestEvents();
  latest.add(record, eventOf(2));
  latest.add(record, eventOf(3, "x".repeat(2_000)));
  expect(latest.findAfter(record.id, 1)).toBeUndefined();
  expect(latest.findAfter(record.id, 2)).toBeUndefined();
  for (let number = 0; number <= 1_000; number++) latest.add({ ...record, id: `dep_${number}` }, eventOf(2));
  expect(latest.findAfter("dep_0", 1)).toBeUndefined();
  expect(latest.findAfter("dep_1", 1)).toBeDefined();
  expect(latest.findAfter("dep_1000", 1)).toBeDefined();
});

test("an event is not read before it is committed, and not at all if that fails", async () => {
  await using store = openStore(":memory:");
  const { deployments } = store;
  const { lastEvent, ...deployment } = record;
  await createDeployment(deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, lastEvent!);
  const add = (fails: boolean) =>
    updateDeployment(deployments, record.id, (current) => {
      const change = appendEvent(current, { status: "Running", message: "x", step: "pulling" }, T0);
      return fails ? { ...change, fields: { deadlineAtMs: Number.NaN } } : change;
    });
  const failing = add(true);
  expect(await deployments.readEvents(record.id, 1, 10)).toEqual({ events: [], hasMore: false, isOver: false });
  await expect(failing).rejects.toThrow("NOT NULL");
  expect(await deployments.readEvents(record.id, 1, 10)).toEqual({ events: [], hasMore: false, isOver: false });
  const adding = add(false);
  expect((await deployments.readEvents(record.id, 1, 10)).events).toEqual([]);
  await adding;
  expect((await deployments.readEvents(record.id, 1, 10)).events).toMatchObject([{ seq: 2 }]);
  expect((await deployments.readEvents(record.id, 0, 10)).events).toMatchObject([{ seq: 1 }, { seq: 2 }]);
});
