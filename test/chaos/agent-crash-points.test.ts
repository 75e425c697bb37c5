import { describe, expect, it } from "vitest";
import { type AgentStore, type StoreChange, StoreError } from "../../src/agent/store/store.ts";
import { AgentRig } from "../support/agent-rig.ts";
import type { FakeBehaviour } from "../support/fake-engine/fake-image.ts";

/*
 * The agent's deployment loop, killed at every call to the engine (before it takes effect, and after, with the answer
 * lost) and at every write to its store (before and after), then started again on what is on disk.
 */

const IMAGE = "example/app:1";

interface Scenario {
  readonly present: boolean;
  readonly behaviour?: FakeBehaviour;
  readonly ends: "Success" | "Fail";
}

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  "an image that is present": { present: true, ends: "Success" },
  "an image to pull": { present: false, ends: "Success" },
  "an app that crashes": { present: true, behaviour: { exit: { code: 1, afterMs: 500 } }, ends: "Fail" },
  "an app that becomes healthy": {
    present: true,
    behaviour: { health: { becomes: "healthy", afterMs: 2_000 } },
    ends: "Success",
  },
};

/** Counts moments at which the process can die, and dies at one of them: nothing it does afterwards has any effect. */
class Reaper {
  count = 0;
  isDead = false;
  readonly #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  pass(): void {
    if (this.isDead) throw new StoreError("other", "dead");
    if (++this.count !== this.#at) return;
    this.isDead = true;
    throw new StoreError("other", "killed");
  }
}

/** A store whose writes are moments to die at. Reads are not: nothing follows from them that a write does not show. */
function mortal(store: AgentStore, reaper: Reaper): AgentStore {
  return new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function") return member;
      if (name !== "save") return member.bind(target) as unknown;
      return (change: StoreChange) => {
        reaper.pass();
        target.save(change);
        reaper.pass();
      };
    },
  });
}

async function play(scenario: Scenario, dieAt: number) {
  const reaper = new Reaper(dieAt);
  await using rig = new AgentRig({}, (store) => mortal(store, reaper));
  const image = scenario.behaviour ? { behaviour: scenario.behaviour } : {};
  if (scenario.present) rig.engine.addImage(IMAGE, image);
  else rig.engine.publish(IMAGE, { ...image, pullMs: 3_000 });
  rig.engine.faults.onCall(() => reaper.pass());

  let isAccepted = false;
  try {
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, ports: [{ host_port: 30_001, target_port: 80 }] });
    isAccepted = true;
    while (!reaper.isDead && rig.store.deployment("d1")?.outcome === "pending") await rig.clock.advance(50);
  } catch {
    // The command was not acknowledged: the control plane reports it and cancels it should it turn up.
  }
  const died = reaper.isDead;
  if (died) {
    reaper.isDead = false;
    await rig.restart();
  }
  const stored = rig.store.deployment("d1");
  const end = stored && (await rig.untilEnd("d1"));
  return { died, moments: reaper.count, isAccepted, stored, end, rig: snapshot(rig) };
}

function snapshot(rig: AgentRig) {
  const events = rig.events("d1");
  return {
    finals: events.filter(({ status }) => status !== "Running").length,
    sequence: events.map(({ device_seq }) => device_seq),
    containers: rig.engine.containers.map(({ status }) => status),
    apps: rig.store.apps().map(({ name }) => name),
  };
}

describe.each(Object.entries(SCENARIOS))("killed while deploying %s", (_name, scenario) => {
  it("at any moment: one final event, nothing left after Fail, one running app after Success", async () => {
    let at = 1;
    for (; ; at++) {
      const { died, isAccepted, stored, end, rig } = await play(scenario, at);
      if (!died) break;
      if (!stored) {
        expect(isAccepted, `moment ${at}: an accepted command is on disk`).toBe(false);
        expect(rig.containers).toEqual([]);
        continue;
      }
      expect(end?.status, `moment ${at}`).toBe(scenario.ends);
      expect(rig.finals, `moment ${at}: final events`).toBe(1);
      expect(rig.sequence, `moment ${at}: order`).toEqual([...new Set(rig.sequence)].toSorted((a, b) => a - b));
      expect(rig.containers, `moment ${at}`).toEqual(scenario.ends === "Success" ? ["running"] : []);
      expect(rig.apps, `moment ${at}`).toEqual(scenario.ends === "Success" ? ["app"] : []);
    }
    expect(at).toBeGreaterThan(20);
  });
});
