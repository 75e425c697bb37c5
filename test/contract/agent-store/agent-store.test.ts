import { statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DeploymentRecord, newApp, newRecord } from "../../../src/agent/core/records.ts";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import { type AgentStore, StoreError } from "../../../src/agent/store/store.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import type { EventContent } from "../../../src/protocol/deployments/deployment-event.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { readFiles, writeFiles } from "../../support/chaos/power-loss.ts";
import { tempDir } from "../../support/temp-dir.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1", environments: [{ key: "K", value: "v" }] });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

const say = (message: string): EventContent => ({ status: "Running", step: "checking", message });
const percent = (progress: number): EventContent => ({ status: "Running", step: "pulling", message: "…", progress });
const DONE: EventContent = { status: "Success", step: "done", message: "done" };

/** A deployment that has ended. */
const over = (id: string): DeploymentRecord => ({ ...newRecord(id, 1, spec), outcome: "succeeded", committed: true });

describe("agent store", () => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  let clock: FakeClock;
  let store: AgentStore;

  const open = (bootId = "boot-1"): AgentStore =>
    openSqliteStore({ path: join(directory.path, "agent.db"), clock, bootId });
  const reopen = (bootId?: string): void => {
    store[Symbol.dispose]();
    store = open(bootId);
  };
  const messages = (position = 0): string[] => store.pendingEvents(position, 100).map(({ event }) => event.message);

  beforeEach(async () => {
    directory = await tempDir();
    clock = new FakeClock();
    store = open();
  });
  afterEach(async () => {
    store[Symbol.dispose]();
    await directory[Symbol.asyncDispose]();
  });

  it("returns what was saved, across restarts", () => {
    const broken = newRecord("d2", 2, undefined, { code: "ErrorNoName", message: "none", step: "checking" });
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("one")] });
    store.save({ deployment: broken });
    const app = newApp(spec, { deploymentId: "d1", imageId: "i", containerId: "c" });
    store.save({ app });
    reopen();
    expect(store.deployments()).toEqual([newRecord("d1", 1, spec), broken]);
    expect(store.deployment("d2")).toEqual(broken);
    expect(store.deployment("d3")).toBeUndefined();
    expect(store.apps()).toEqual([app]);
    expect(store.nextOrder()).toBe(3);
    store.save({ removedApp: "app" });
    expect(store.apps()).toEqual([]);
  });

  it("checks the record of an app once, until it changes", () => {
    const app = newApp(spec, { deploymentId: "d1", imageId: "i", containerId: "c" });
    store.save({ app });
    const [first] = store.apps();
    expect(store.apps()[0]).toBe(first);
    store.save({ app: { ...app, containerId: "other" } });
    expect(store.apps()).toEqual([{ ...app, containerId: "other" }]);
    store.save({ app });
    expect(store.apps()).toEqual([app]);
    store.save({ removedApp: "app" });
    expect(store.apps()).toEqual([]);
  });

  it("numbers the events of each deployment separately, and keeps their overall order", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("a1"), say("a2")] });
    store.save({ deployment: newRecord("d2", 2, spec), events: [say("b1")] });
    reopen();
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("a3")] });
    const pending = store.pendingEvents(0, 100).map(({ deploymentId, event }) => [deploymentId, event.device_seq]);
    expect(pending).toEqual([
      ["d1", 1],
      ["d1", 2],
      ["d2", 1],
      ["d1", 3],
    ]);
  });

  it("returns pages of events after a position", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: ["1", "2", "3", "4"].map(say) });
    const [first, second] = store.pendingEvents(0, 2);
    expect([first?.event.message, second?.event.message]).toEqual(["1", "2"]);
    expect(messages(second?.position)).toEqual(["3", "4"]);
  });

  it("keeps only the last of several progress events, and every other event", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("start")] });
    for (const value of [10, 20, 30]) store.save({ deployment: newRecord("d1", 1, spec), events: [percent(value)] });
    store.save({ deployment: newRecord("d1", 1, spec), events: [DONE] });
    const events = store.pendingEvents(0, 100).map(({ event }) => [event.device_seq, event.progress]);
    expect(events).toEqual([
      [1, undefined],
      [4, 30],
      [5, undefined],
    ]);
  });

  it("does not return acknowledged events again, whatever their number", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: ["1", "2", "3"].map(say) });
    store.acknowledge("d1", 2);
    store.acknowledge("d1", 1);
    expect(store.pendingEvents(0, 1).map(({ event }) => event.message)).toEqual(["3"]);
  });

  it("removes a deployment only when its final event is acknowledged", () => {
    store.save({ deployment: over("d1"), events: [say("1"), DONE] });
    store.acknowledge("d1", 1);
    expect(store.deployment("d1")).toBeDefined();
    store.acknowledge("d1", 2);
    expect(store.deployment("d1")).toBeUndefined();
    expect(messages()).toEqual([]);
    store.acknowledge("d1", 2);
  });

  it("sends a final event again whose acknowledgement a power cut has undone, and keeps what came before", () => {
    store.save({ deployment: over("d1"), events: [say("1"), DONE] });
    const path = join(directory.path, "agent.db");
    const before = readFiles(path);
    store.acknowledge("d1", 2);
    expect(messages()).toEqual([]);
    // What was not flushed is gone.
    const damaged = writeFiles(before, join(directory.path, "after"), "agent.db");
    using restarted = openSqliteStore({ path: damaged, clock, bootId: "boot-2" });
    expect(restarted.pendingEvents(0, 10).map(({ event }) => event.message)).toEqual(["1", "done"]);
    restarted.acknowledge("d1", 2);
    expect(restarted.deployments()).toEqual([]);
  });

  it("keeps a rolled back success until the failure is acknowledged", () => {
    store.save({ deployment: over("d1"), events: [DONE] });
    store.save({ deployment: newRecord("d1", 1, spec) });
    store.acknowledge("d1", 1);
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("rolling back")] });
    store.acknowledge("d1", 2);
    expect(store.deployment("d1")).toBeDefined();
    store.save({ deployment: { ...over("d1"), outcome: "failed" }, events: [{ ...DONE, status: "Fail" }] });
    expect(store.pendingEvents(0, 10).map(({ event }) => event.device_seq)).toEqual([3]);
    store.acknowledge("d1", 3);
    expect(store.deployment("d1")).toBeUndefined();
  });

  it("never reuses a position, so that cursors stay valid", () => {
    store.save({ deployment: over("d1"), events: [DONE] });
    const before = store.pendingEvents(0, 1)[0]?.position ?? 0;
    store.acknowledge("d1", 1);
    store.save({ deployment: newRecord("d2", 1, spec), events: [say("later")] });
    expect(messages(before)).toEqual(["later"]);
  });

  it("returns the age of an event within one boot, independent of the wall clock, and none after a reboot", async () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("1")] });
    await clock.advance(1_500);
    clock.jump(-50 * 365 * 86_400_000);
    expect(store.pendingEvents(0, 1)[0]?.event.age_ms).toBe(1_500);
    reopen("boot-2");
    expect(store.pendingEvents(0, 1)[0]?.event).not.toHaveProperty("age_ms");
  });

  it("changes nothing when one part of a change cannot be stored", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const change = { deployment: newRecord("d1", 1, spec), events: [say("1"), { ...DONE, details: circular }] };
    expect(() => store.save(change)).toThrow(StoreError);
    expect(store.deployments()).toEqual([]);
    expect(messages()).toEqual([]);
  });

  it("continues numbering after a restart, also when progress was replaced", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("one"), percent(10)] });
    reopen();
    store.save({ deployment: newRecord("d1", 1, spec), events: [percent(20)] });
    reopen();
    store.save({ deployment: newRecord("d1", 1, spec), events: [DONE] });
    expect(store.pendingEvents(0, 100).map(({ event }) => event.device_seq)).toEqual([1, 3, 4]);
  });

  it("writes at most one page for an event that does not change the record", () => {
    const log = join(directory.path, "agent.db-wal");
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("one")] });
    const before = statSync(log).size;
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("two")] });
    // A page of 1024 bytes and its frame header.
    expect(statSync(log).size - before).toBe(1_048);
  });

  it("reports a store it cannot open", () => {
    expect(() => openSqliteStore({ path: directory.path, clock, bootId: "b" })).toThrow(StoreError);
  });
});
