import { rmSync } from "node:fs";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { newRecord } from "../../../src/agent/core/records.ts";
import { openStore } from "../../../src/agent/store/open-store.ts";
import { StoreError } from "../../../src/agent/store/store.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { fillDisk } from "../../support/fill-disk.ts";
import { smallDisk } from "../../support/small-disk.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const { spec } = parsed;

describe.skipIf(process.getuid?.() !== 0)("the agent's store on a full disk (needs root to mount one)", () => {
  it("still records the end of accepted deployments, refuses new ones, and recovers", async () => {
    await using disk = await smallDisk(8);
    const open = () =>
      openStore({ directory: disk.path, clock: new FakeClock(), bootId: "boot", logger: pino({ level: "silent" }) })
        .store;
    using store = open();
    const record = newRecord("d1", 1, spec);
    store.save({ deployment: record });
    const filler = fillDisk(disk.path);

    // More than fits into the database file: the reserve has to be released.
    const message = "x".repeat(1_500);
    const running = Array.from({ length: 40 }, () => ({ status: "Running", step: "checking", message }) as const);
    store.save({ deployment: record, events: running });
    store.save({ deployment: { ...record, outcome: "failed" }, events: [{ status: "Fail", step: "done", message }] });
    expect(store.isFull()).toBe(true);

    const flood = () => {
      for (let order = 2; order < 3_000; order++) {
        store.save({ deployment: newRecord(`d${order}`, order, spec), events: running });
      }
    };
    expect(flood).toThrow(StoreError);
    expect(store.pendingEvents(0, 1_000).some(({ event }) => event.status === "Fail")).toBe(true);

    rmSync(filler);
    expect(store.isFull()).toBe(false);
    store.save({ deployment: newRecord("after", 5_000, spec) });
    expect(store.deployment("after")).toBeDefined();
  });
});
