import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type DeploymentRecord, newApp, newRecord } from "../../../src/agent/core/records.ts";
import { openSqliteReader, openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import type { AgentStore, StoreChange } from "../../../src/agent/store/store.ts";
import { type AppSpec, parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import type { EventContent } from "../../../src/protocol/deployments/deployment-event.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { tempDir } from "../../support/temp-dir.ts";

const FAILED: EventContent = { status: "Fail", step: "done", message: "It crashed.", code: "CrashLoopBackOff" };
const SUCCEEDED: EventContent = { status: "Success", step: "done", message: "The app runs." };

function specWith(name: string, ...values: readonly string[]): AppSpec {
  const environments = values.map((value, index) => ({ key: `KEY_${index}`, value }));
  const parsed = parseAppSpec({ name, image: "example/app:1", environments });
  if (!parsed.ok) throw parsed.error;
  return parsed.spec;
}

const appWith = (name: string, ...values: readonly string[]): NonNullable<StoreChange["app"]> =>
  newApp(specWith(name, ...values), { deploymentId: "d", imageId: "i", containerId: "c" });

describe("residual data in the agent's store", () => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  let store: AgentStore;
  const open = (path = directory.path): AgentStore =>
    openSqliteStore({ path: join(path, "agent.db"), clock: new FakeClock(), bootId: "boot-1" });
  const files = (path = directory.path): string =>
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => readFileSync(join(path, name), "latin1"))
      .join("");

  beforeEach(async () => {
    directory = await tempDir();
    store = open();
  });
  afterEach(async () => {
    store[Symbol.dispose]();
    await directory[Symbol.asyncDispose]();
  });

  it.each<[string, () => void]>([
    ["an app that was removed", () => store.save({ removedApp: "app" })],
    ["an app that was updated", () => store.save({ app: appWith("app", "another-value") })],
  ])("of %s is scrubbed", (_what, take) => {
    store.save({ app: appWith("app", "planted-value") });
    expect(store.hasResidualData).toBe(false);
    take();
    expect([store.hasResidualData, files().includes("planted-value")]).toEqual([true, true]);
    store.scrub();
    expect([store.hasResidualData, files().includes("planted-value")]).toEqual([false, false]);
  });

  it("is scrubbed for failed deployments, used credentials, and deployments requested on the device", () => {
    const options = { registry_auth: { username: "user", password: "planted-password" } };
    const record: DeploymentRecord = { ...newRecord("d1", 1, specWith("app", "planted-value")), options };
    store.save({ deployment: record });
    expect(store.hasResidualData).toBe(false);
    store.save({ deployment: { ...record, options: {} } });
    store.scrub();
    expect([files().includes("planted-password"), files().includes("planted-value")]).toEqual([false, true]);
    store.save({ deployment: { ...record, options: {}, outcome: "failed" }, events: [FAILED] });
    expect(store.hasResidualData).toBe(false);
    store.acknowledge("d1", 1);
    const local = { ...newRecord("d2", 2, specWith("b", "planted-locally")), origin: "local" as const };
    store.save({ deployment: local });
    store.save({ deployment: { ...local, outcome: "failed" }, events: [FAILED] });
    store.scrub();
    for (const value of ["planted-value", "planted-password", "planted-locally"]) expect(files()).not.toContain(value);
  });

  it("does not exist while no value was removed: nothing is rewritten", () => {
    const record = newRecord("d1", 1, specWith("app", "a-value"));
    store.save({ deployment: record });
    store.save({
      deployment: { ...record, outcome: "succeeded" },
      events: [SUCCEEDED],
      app: appWith("app", "a-value"),
    });
    store.acknowledge("d1", 1);
    store.save({ app: appWith("plain") });
    store.save({ removedApp: "plain" });
    expect(store.hasResidualData).toBe(false);
    const before = files();
    store.scrub();
    expect(files()).toBe(before);
  });

  it("is known after a crash, and scrubbed also on closing", async () => {
    store.save({ app: appWith("app", "planted-value") });
    store.save({ removedApp: "app" });
    await using crashed = await tempDir();
    cpSync(directory.path, crashed.path, { recursive: true });
    {
      using again = open(crashed.path);
      expect(again.hasResidualData).toBe(true);
      again.scrub();
      expect(files(crashed.path)).not.toContain("planted-value");
    }
    {
      using _reader = openSqliteReader({
        path: join(directory.path, "agent.db"),
        clock: new FakeClock(),
        bootId: "boot-1",
      });
    }
    expect(files()).toContain("planted-value");
    store[Symbol.dispose]();
    expect(files()).not.toContain("planted-value");
    store = open();
    expect(store.hasResidualData).toBe(false);
  });

  it("is gone after scrubbing, for any sequence of changes", () => {
    const step = fc.record({
      name: fc.constantFrom("a", "b", "c", "d", "e"),
      kind: fc.constantFrom("app", "app", "remove", "deploy", "end"),
      length: fc.integer({ min: 0, max: 1_500 }),
    });
    let count = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 10, maxLength: 40 }), (steps) => {
        const given: string[] = [];
        for (const { name, kind, length } of steps) {
          const value = `planted-${++count}-${"x".repeat(length)}`;
          given.push(`planted-${count}-`);
          if (kind === "app") store.save({ app: appWith(name, value) });
          if (kind === "remove") store.save({ removedApp: name });
          if (kind === "deploy") store.save({ deployment: newRecord(name, count, specWith(name, value)) });
          const going = kind === "end" ? store.deployment(name) : undefined;
          if (going) {
            store.save({ deployment: { ...going, outcome: "failed" }, events: [FAILED] });
            store.acknowledge(name, 1_000);
          }
        }
        store.scrub();
        const kept = JSON.stringify([store.apps(), store.deployments()]);
        const found = files();
        expect(given.filter((value) => found.includes(value) && !kept.includes(value))).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });
});
