import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { type AgentStore, StoreError } from "../../../src/agent/store/store.ts";
import type { AppAction } from "../../../src/protocol/deployments/deployment-action.ts";
import { AgentRig } from "../../support/agent-rig.ts";
import { interceptSaves } from "../../support/intercept-saves.ts";

const IMAGE = "example/app:1";
const AWAY = () => new EngineError("unavailable", "the engine is down");
const FULL = () => new StoreError("full", "the disk is full");

/** Lets everything run that does not wait for the clock, which stands still. */
async function untilQuiet(rig: AgentRig): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await rig.clock.advance(0);
}

/** A rig whose disk is full and whose engine is away while `trouble` says so. */
function troubledRig() {
  const trouble = { disk: false, engine: false, writes: 0, calls: 0 };
  const onSave = (): void => {
    trouble.writes++;
    if (trouble.disk) throw FULL();
  };
  const rig = new AgentRig({}, (store: AgentStore) => interceptSaves(store, { onSave }));
  rig.engine.addImage(IMAGE);
  rig.engine.faults.onCall(({ phase }) => {
    if (phase === "after") return;
    trouble.calls++;
    // Far more than any deployment makes, so that one that spins fails in place of hanging.
    if (trouble.calls > 5_000) throw new Error("spinning");
    if (trouble.engine) throw AWAY();
  });
  return { rig, trouble };
}

describe("a deployment that cannot go on", () => {
  it.each([
    ["created", 0],
    ["started", 100],
  ])("waits between two tries with the engine down and the disk full, once it is %s", async (_, afterMs) => {
    const { rig, trouble } = troubledRig();
    await using _rig = rig;
    const slow = rig.engine.faults.hang(afterMs === 0 ? "createContainer" : "inspectContainer", "after");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    await rig.clock.advance(afterMs);
    await untilQuiet(rig);
    trouble.disk = trouble.engine = true;
    trouble.calls = 0;
    slow[Symbol.dispose]();
    await untilQuiet(rig);
    expect(trouble.calls).toBeLessThanOrEqual(2);
    // Pauses of at most 15 s: a quarter of an hour takes no more than some hundred looks.
    await rig.clock.advance(900_000);
    expect(trouble.calls).toBeLessThan(200);
    trouble.disk = trouble.engine = false;
    await rig.untilEnd("d1");
  });

  it("never tries twice at one moment, whatever fails, and ends once nothing does", async () => {
    const step = fc.record({ disk: fc.boolean(), engine: fc.boolean(), forMs: fc.integer({ min: 0, max: 6_000 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<"deploy" | "cancel" | AppAction>("deploy", "cancel", "update", "remove"),
        fc.array(step, { maxLength: 12 }),
        async (what, steps) => {
          const { rig, trouble } = troubledRig();
          await using _rig = rig;
          if (what !== "deploy") {
            rig.deployments.deploy("d0", { name: "app", image: IMAGE });
            await rig.untilEnd("d0");
          }
          const id = what === "cancel" ? "d0" : "d1";
          if (what === "deploy") rig.deployments.deploy("d1", { name: "app", image: IMAGE });
          else if (what === "cancel") rig.deployments.cancel("d0", "timeout");
          else {
            const spec = { environments: [{ key: "A", value: "b" }] };
            rig.deployments.change("d1", { action: what, app: "app", ...(what === "update" && { spec }) });
          }
          for (const { disk, engine, forMs } of steps) {
            Object.assign(trouble, { disk, engine, calls: 0, writes: 0 });
            await untilQuiet(rig);
            // One deployment asks for some things at most before it has to wait or has ended.
            expect(trouble.calls).toBeLessThan(40);
            expect(trouble.writes).toBeLessThan(40);
            await rig.clock.advance(forMs);
            // A look every quarter of a second at the most, while an app is verified.
            expect(trouble.calls).toBeLessThan(100);
          }
          Object.assign(trouble, { disk: false, engine: false, calls: 0 });
          await rig.untilEnd(id);
        },
      ),
      { numRuns: 150 },
    );
  });

  it("does not repeat at once a step that changes nothing", async () => {
    const { rig, trouble } = troubledRig();
    await using _rig = rig;
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    await rig.untilEnd("d1");
    // The engine says that the container is removed, and shows it all the same.
    rig.engine.removeContainer = async () => void trouble.calls++;
    rig.deployments.cancel("d1", "timeout");
    trouble.calls = 0;
    await untilQuiet(rig);
    // Two tries of five calls: the containers are listed, the end of their log is kept, they are removed, the networks are
    // listed, and the one that no app needs any more is removed.
    expect(trouble.calls).toBeLessThanOrEqual(10);
    await rig.clock.advance(900_000);
    // The pauses have a mean of 7.5 s once they no longer grow: about 120 tries of the same five calls.
    expect(trouble.calls).toBeLessThan(700);
  });
});
