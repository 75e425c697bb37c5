import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newRecord } from "../../../src/agent/core/records.ts";
import {
  MAX_HISTORY_ENTRIES,
  MAX_HISTORY_EXCESS_ENTRIES,
  type HistoryEntry,
} from "../../../src/agent/store/history.ts";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import type { AgentStore } from "../../../src/agent/store/store.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import type { EventContent } from "../../../src/protocol/deployments/deployment-event.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { tempDir } from "../../support/temp-dir.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

const say = (message: string): EventContent => ({ status: "Running", step: "checking", message });
const DONE: EventContent = { status: "Success", step: "done", message: "done" };
const local = (id: string, order = 1) => ({ ...newRecord(id, order, spec), origin: "local" as const });

const messages = (entry: HistoryEntry | undefined): string[] =>
  entry?.kind === "deployment" ? entry.events.map(({ message }) => message) : [];

describe("history of the agent's store", () => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  let clock: FakeClock;
  let store: AgentStore;

  const open = (bootId = "boot-1"): AgentStore =>
    openSqliteStore({ path: join(directory.path, "agent.db"), clock, bootId });
  const reopen = (bootId?: string): void => {
    store[Symbol.dispose]();
    store = open(bootId);
  };

  beforeEach(async () => {
    directory = await tempDir();
    clock = new FakeClock();
    store = open();
  });
  afterEach(async () => {
    store[Symbol.dispose]();
    await directory[Symbol.asyncDispose]();
  });

  it("keeps a deployment with its events and times after its acknowledgement", async () => {
    const began = Math.floor(clock.now() / 1000);
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("one")] });
    await clock.advance(4_000);
    store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "succeeded" }, events: [DONE] });
    store.acknowledge("d1", 2);
    reopen();
    expect(store.deployment("d1")).toBeUndefined();
    const [entry, ...others] = store.history(10);
    expect(others).toEqual([]);
    expect(entry).toMatchObject({ kind: "deployment", id: "d1", app: "app", image: "example/app:1" });
    expect(entry?.kind === "deployment" && entry.events.map(({ message, at }) => [message, at])).toEqual([
      ["one", began],
      ["done", began + 4],
    ]);
  });

  it("lists a pending deployment last, once, with its events so far", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("first")] });
    store.save({ historyEntry: { kind: "repair", app: "other", at: 5, reason: "it was stopped" } });
    expect(store.history(10).map(({ kind }) => kind)).toEqual(["repair", "deployment"]);
    expect(messages(store.history(10).at(-1))).toEqual(["first"]);
  });

  it("has no time for events from before a reboot", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("before")] });
    reopen("boot-2");
    store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "succeeded" }, events: [DONE] });
    const [entry] = store.history(1);
    expect(entry?.kind === "deployment" && entry.events.map(({ at }) => at === null)).toEqual([true, false]);
  });

  it("replaces the entry of a deployment that was rolled back", () => {
    store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "succeeded" }, events: [DONE] });
    const failed = { ...DONE, status: "Fail", message: "cancelled" } as const;
    store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "failed" }, events: [failed] });
    expect(store.history(10).map(messages)).toEqual([["done", "cancelled"]]);
  });

  it("is bounded: old entries are removed, never those of the other kind", () => {
    store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "succeeded" }, events: [DONE] });
    const written = MAX_HISTORY_ENTRIES + MAX_HISTORY_EXCESS_ENTRIES + 1;
    for (let at = 0; at < written; at++) {
      store.save({ historyEntry: { kind: "repair", app: "app", at, reason: "it was stopped" } });
    }
    const entries = store.history(10_000);
    expect(entries).toHaveLength(MAX_HISTORY_ENTRIES + 1);
    expect(entries[0]).toMatchObject({ kind: "deployment" });
    expect(entries[1]).toMatchObject({ kind: "repair", at: written - MAX_HISTORY_ENTRIES });
  });

  it("leaves out large details of an event", () => {
    const logs = Array.from({ length: 20 }, () => "x".repeat(500));
    const fail: EventContent = { status: "Fail", step: "verifying", message: "stopped", details: { logs } };
    store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "failed" }, events: [fail] });
    expect(JSON.stringify(store.history(1)).length).toBeLessThan(1_000);
  });

  it("leaves out the times of the steps, except of a deployment that the control plane does not know", () => {
    const timings = { total_ms: 5, steps: [{ step: "checking", ms: 4, engine_ms: 3 }] };
    const details = { kept_volumes: ["data"], timings };
    for (const deployment of [newRecord("d1", 1, spec), local("l1", 2)]) {
      store.save({ deployment: { ...deployment, outcome: "succeeded" }, events: [{ ...DONE, details }] });
    }
    expect(store.pendingEvents(0, 10)[0]?.event.details).toEqual(details);
    const kept = store.history(10).map((entry) => entry.kind === "deployment" && entry.events[0]?.details);
    expect(kept).toEqual([{ kept_volumes: ["data"] }, details]);
  });

  it("removes a deployment requested on the device at its end, and never offers its events to the control plane", () => {
    store.save({ deployment: newRecord("d1", 1, spec), events: [say("remote")] });
    store.save({ deployment: local("l1", 2), events: [say("here")] });
    const offered = (): string[] => store.pendingEvents(0, 10).map(({ event }) => event.message);
    expect(offered()).toEqual(["remote"]);
    store.save({ deployment: { ...local("l1", 2), outcome: "succeeded" }, events: [DONE] });
    expect(store.deployment("l1")).toBeUndefined();
    expect(offered()).toEqual(["remote"]);
    expect(store.history(10).find((entry) => "id" in entry && entry.id === "l1")).toMatchObject({ origin: "local" });
    reopen();
    expect(messages(store.history(10)[0])).toEqual(["here", "done"]);
  });
});
