import { describe, expect, it } from "vitest";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { imageWork, repairWork } from "../../../src/agent/store/crash-guard.ts";
import { orAborted } from "../../../src/lib/abort.ts";
import { isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import { AgentRig } from "../../support/agent-rig.ts";
import type { EngineCall, EngineMethod } from "../../support/fake-engine/faults.ts";

/*
 * The agent is ended again and again at the same point: while it calls the engine for what the test names as deadly.
 */

const IMAGE = "example/app:1";
const MINUTE_MS = 60_000;

type Ending = NonNullable<Parameters<AgentRig["restart"]>[0]>;

/** Engine calls that end the agent: they hang until the test ends it. */
function deadly(rig: AgentRig, method: EngineMethod, isDeadly: (call: EngineCall) => boolean = () => true) {
  let waiting = 0;
  let calls = 0;
  const hook = rig.engine.faults.onCall(async (call) => {
    if (call.method !== method || call.phase !== "before" || !isDeadly(call)) return;
    waiting++;
    calls++;
    await new Promise((resolve) => call.signal.addEventListener("abort", resolve, { once: true }));
    waiting--;
    throw call.signal.reason;
  });
  return {
    get isReached() {
      return waiting > 0;
    },
    get calls() {
      return calls;
    },
    [Symbol.dispose]: () => hook[Symbol.dispose](),
  };
}

/** Advances the clock until something holds. */
async function until(rig: AgentRig, holds: () => boolean, limitMs: number): Promise<boolean> {
  for (let passed = 0; passed < limitMs; passed += 50) {
    if (holds()) return true;
    await rig.clock.advance(50);
  }
  return holds();
}

/** Ends the agent at the deadly point until it does not come there any more within `limitMs`. Returns how often that was. */
async function killUntilSpared(
  rig: AgentRig,
  point: { readonly isReached: boolean },
  end: Ending = "killed",
  limitMs = 3 * MINUTE_MS,
) {
  for (let ends = 0; ends < 100; ends++) {
    if (!(await until(rig, () => point.isReached, limitMs))) return ends;
    await rig.restart(end);
  }
  throw new Error("the agent loops");
}

const isOver = (rig: AgentRig, id: string) => rig.store.deployment(id)?.outcome !== "pending";
const finals = (rig: AgentRig, id: string) => rig.events(id).filter(isFinal);
const named =
  (name: string) =>
  ({ args }: EngineCall) =>
    (args[0] as { name: string }).name === name;
const ofImage = (rig: AgentRig, image: string) => (call: EngineCall) =>
  rig.engine.container(String(call.args[0]))?.request.image === image;

describe("a deployment", () => {
  it("that ends the agent three times is given up: one final event, and nothing is left", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using create = deadly(rig, "createContainer");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE, ports: [{ host_port: 30_001, target_port: 80 }] });
    expect(await killUntilSpared(rig, create)).toBe(3);
    expect(finals(rig, "d1")).toMatchObject([
      { status: "Fail", code: "AgentCrashed", step: "creating", details: { agent_crashes: 3 } },
    ]);
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
  });

  it("that ended the agent twice goes on, and counts from the beginning if it is repeated", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    for (const id of ["d1", "d2"]) {
      using create = deadly(rig, "createContainer");
      rig.deployments.deploy(id, { name: id, image: IMAGE });
      for (let ends = 0; ends < 2; ends++) {
        expect(await until(rig, () => create.isReached, MINUTE_MS)).toBe(true);
        await rig.restart("killed");
      }
      create[Symbol.dispose]();
      // The call that hangs is of the agent before.
      await rig.restart("stopped");
      expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
    }
  });

  it("is not blamed for a stop, however often", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    const create = deadly(rig, "createContainer");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    for (let ends = 0; ends < 20; ends++) {
      expect(await until(rig, () => create.isReached, MINUTE_MS)).toBe(true);
      if (ends === 19) create[Symbol.dispose]();
      await rig.restart("stopped");
    }
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  });

  it("is given up after ten power cuts in a row, each soon after it was resumed", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using create = deadly(rig, "createContainer");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    expect(await killUntilSpared(rig, create, "power cut")).toBe(10);
    expect(finals(rig, "d1")).toMatchObject([{ code: "AgentCrashed", details: { agent_crashes: 0, power_cuts: 10 } }]);
    expect(rig.engine.containers).toEqual([]);
  });

  it("goes on over any number of power cuts that come later than ten minutes after the start", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    const create = deadly(rig, "createContainer");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    for (let ends = 0; ends < 15; ends++) {
      expect(await until(rig, () => create.isReached, MINUTE_MS)).toBe(true);
      await rig.clock.advance(11 * MINUTE_MS);
      if (ends === 14) create[Symbol.dispose]();
      await rig.restart("power cut");
    }
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  });

  it("that waits for the data budget is not blamed for what happens meanwhile", async () => {
    await using rig = new AgentRig();
    rig.engine.publish(IMAGE);
    const opens = Promise.withResolvers<void>();
    let isOpen = false;
    rig.gate = {
      rate: () => undefined,
      async admit({ emit, signal }) {
        if (isOpen) return;
        emit({ status: "Running", step: "pulling", message: "Waiting.", details: { waiting_for: "hours" } });
        await orAborted(opens.promise, signal);
      },
    };
    await rig.restart("stopped");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    for (let ends = 0; ends < 30; ends++) {
      await rig.clock.advance(5_000);
      await rig.restart(ends % 2 === 0 ? "killed" : "power cut");
    }
    isOpen = true;
    opens.resolve();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  });

  it.each(["update", "switch"] as const)(
    "an update given up at its %s leaves the previous version running",
    async (where) => {
      await using rig = new AgentRig();
      rig.engine.addImage(IMAGE);
      rig.engine.addImage("example/app:2", { labels: { version: "2" } });
      rig.deployments.deploy("d1", { name: "app", image: IMAGE });
      await rig.untilEnd("d1");
      const [method, image] =
        where === "update" ? (["createContainer", ""] as const) : (["startContainer", "example/app:2"] as const);
      using point = deadly(rig, method, image === "" ? undefined : ofImage(rig, image));
      rig.deployments.change("u1", { action: "update", app: "app", spec: { image: "example/app:2" } });
      expect(await killUntilSpared(rig, point)).toBe(3);
      expect(finals(rig, "u1")).toMatchObject([{ code: "AgentCrashed", details: { rolled_back: where === "switch" } }]);
      expect(rig.engine.containers).toMatchObject([{ name: "app", status: "running", request: { image: IMAGE } }]);
      expect(rig.store.apps()).toMatchObject([{ name: "app", deploymentId: "d1" }]);
    },
  );

  it("whose way back ends the agent too is reported, and what was there before is left to the reconciler", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    rig.engine.addImage("example/app:2", { labels: { version: "2" } });
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    await rig.untilEnd("d1");
    using start = deadly(rig, "startContainer");
    rig.deployments.change("u1", { action: "update", app: "app", spec: { image: "example/app:2" } });
    expect(await killUntilSpared(rig, start)).toBe(6);
    expect(finals(rig, "u1")).toMatchObject([
      { code: "AgentCrashed", details: { rolled_back: false, rollback_failure: { code: "AgentCrashed" } } },
    ]);
    expect(rig.engine.containers).toMatchObject([{ name: "app", request: { image: IMAGE } }]);
  });

  it("whose clean-up ends the agent too is tried again after pauses that grow, and reported when it is clean", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 1, afterMs: 10 } } });
    const remove = deadly(rig, "removeContainer");
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    expect(await killUntilSpared(rig, remove, "killed", 4 * MINUTE_MS)).toBe(9);
    expect(await until(rig, () => remove.isReached, 2 * MINUTE_MS)).toBe(true);
    await rig.restart("killed");
    expect(await until(rig, () => remove.isReached, 9 * MINUTE_MS)).toBe(false);
    remove[Symbol.dispose]();
    await rig.untilEnd("d1");
    expect(finals(rig, "d1")).toMatchObject([{ status: "Fail", code: "CrashLoopBackOff" }]);
    expect(rig.engine.containers).toEqual([]);
  });

  it("is told apart from one that is only going on at the same time", async () => {
    for (const ids of [
      ["innocent", "deadly"],
      ["deadly", "innocent"],
    ]) {
      await using rig = new AgentRig();
      rig.engine.addImage(IMAGE);
      rig.engine.publish("example/slow:1");
      using pull = rig.engine.faults.hang("pullImage");
      using create = deadly(rig, "createContainer");
      for (const id of ids) rig.deployments.deploy(id, { name: id, image: id === "deadly" ? IMAGE : "example/slow:1" });
      expect(await killUntilSpared(rig, create)).toBeLessThanOrEqual(4);
      expect(finals(rig, "deadly")).toMatchObject([{ code: "AgentCrashed" }]);
      expect(isOver(rig, "innocent")).toBe(false);
      create[Symbol.dispose]();
      pull[Symbol.dispose]();
      expect(await rig.untilEnd("innocent")).toMatchObject({ status: "Success" });
    }
  });

  it("of a group is given up with the group, which goes back", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE);
    using create = deadly(rig, "createContainer", named("second"));
    const entry = (name: string) => ({ app: { name, image: IMAGE } });
    const apps = [entry("first"), { ...entry("second"), depends_on: [{ app: "first" }] }];
    rig.deployments.apply("g1", { project: "p", apps });
    expect(await killUntilSpared(rig, create)).toBe(3);
    expect(finals(rig, "g1")).toMatchObject([{ status: "Fail", code: "AgentCrashed" }]);
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
  });

  it("writes nothing for this as long as the agent does not crash", async () => {
    await using rig = new AgentRig();
    let writes = 0;
    const save = rig.store.saveLearnedValue.bind(rig.store);
    rig.store.saveLearnedValue = (name, value) => {
      if (name === "crashes") writes++;
      save(name, value);
    };
    rig.engine.addImage(IMAGE);
    rig.deployments.deploy("d1", { name: "app", image: IMAGE });
    await rig.untilEnd("d1");
    await rig.engine.removeContainer("app", new AbortController().signal);
    const { reconciler, signal } = newReconciler(rig);
    await reconciler.reconcile(signal);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(writes).toBe(0);
  });
});

function newReconciler(rig: AgentRig, isRebuilding = false) {
  const stopped = new AbortController();
  const rebuild = { isSet: isRebuilding, clear: () => void (rebuild.isSet = false) };
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  return { reconciler, rebuild, signal: stopped.signal, stop: () => stopped.abort() };
}

/** Ends the agent at the deadly point of its reconciler until that does not come there any more. Returns how often that was. */
async function killReconciler(
  rig: AgentRig,
  point: { readonly isReached: boolean },
  isRebuilding = false,
): Promise<number> {
  for (let ends = 0; ends < 20; ends++) {
    const { reconciler, signal, stop } = newReconciler(rig, isRebuilding);
    const running = reconciler.run(signal);
    const isReached = await until(rig, () => point.isReached, 2 * MINUTE_MS);
    if (isReached) rig.crashGuard[Symbol.dispose]();
    stop();
    await running;
    if (!isReached) return ends;
    await rig.restart("killed");
  }
  throw new Error("the agent loops");
}

async function installed(...names: string[]): Promise<AgentRig> {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  for (const name of names) {
    rig.deployments.deploy(`d-${name}`, { name, image: IMAGE });
    await rig.untilEnd(`d-${name}`);
    rig.store.acknowledge(`d-${name}`, 1_000);
  }
  return rig;
}

describe("the reconciler", () => {
  const never = new AbortController().signal;
  // Nothing notes what it does before the agent has ended uncleanly for the first time.
  const ENDS = 4;

  it("pauses with the repair that ends the agent, longer each time, and repairs the others", async () => {
    await using rig = await installed("bad", "good");
    await rig.engine.removeContainer("bad", never);
    using create = deadly(rig, "createContainer", named("bad"));
    expect(await killReconciler(rig, create)).toBe(ENDS);
    expect(rig.crashGuard.held(repairWork("bad"))).toMatchObject({ text: "the agent crashed 3 times" });
    await rig.engine.removeContainer("good", never);
    const again = newReconciler(rig);
    const running = again.reconciler.run(again.signal);
    expect(await until(rig, () => rig.engine.container("good")?.status === "running", MINUTE_MS)).toBe(true);
    // After the pause it is tried, once.
    const calls = create.calls;
    expect(await until(rig, () => create.isReached, 5 * MINUTE_MS)).toBe(true);
    expect(create.calls).toBe(calls + 1);
    rig.crashGuard[Symbol.dispose]();
    again.stop();
    await running;
    await rig.restart("killed");
    expect(rig.crashGuard.held(repairWork("bad"))?.leftMs).toBe(10 * MINUTE_MS);
    // Somebody who restarts the agent wants it tried.
    create[Symbol.dispose]();
    await rig.restart("stopped");
    expect(rig.crashGuard.held(repairWork("bad"))).toBeUndefined();
    const last = newReconciler(rig);
    await last.reconciler.reconcile(last.signal);
    expect(rig.engine.container("bad")?.status).toBe("running");
  });

  it("ends when it is stopped while it waits for a deployment that has its time alone", async () => {
    await using rig = await installed("app");
    using create = deadly(rig, "createContainer");
    rig.deployments.deploy("d1", { name: "other", image: IMAGE });
    for (let ends = 0; ends < 2; ends++) {
      expect(await until(rig, () => create.isReached, MINUTE_MS)).toBe(true);
      if (ends === 0) await rig.restart("killed");
    }
    const { reconciler, signal, stop } = newReconciler(rig);
    const running = reconciler.run(signal);
    stop();
    await running;
    expect(rig.deployments.isBusy("other")).toBe(true);
  });

  it("pauses with fetching an image that ends the agent", async () => {
    await using rig = await installed("app");
    await rig.engine.removeContainer("app", never);
    rig.engine.removeImages();
    rig.engine.publish(IMAGE);
    using pull = deadly(rig, "pullImage");
    expect(await killReconciler(rig, pull)).toBe(ENDS);
    expect(rig.crashGuard.held(imageWork("app"))).toBeDefined();
  });

  it("pauses as a whole if reading the containers ends the agent", async () => {
    await using rig = await installed("app");
    using list = deadly(rig, "listContainers");
    expect(await killReconciler(rig, list)).toBe(ENDS);
    expect(rig.crashGuard.heldFor("app")).toBeDefined();
  });

  it("pauses with the adoption that ends the agent, adopts the others, and removes nothing meanwhile", async () => {
    await using rig = await installed("bad", "good");
    for (const name of ["bad", "good"]) rig.store.save({ removedApp: name });
    const bad = rig.engine.container("bad")?.id;
    // The first read belongs to the list, in which all containers are looked at.
    let reads = 0;
    using _lists = rig.engine.faults.onCall(({ method }) => void (method === "listContainers" && (reads = 0)));
    using read = deadly(rig, "readContainerConfig", ({ args }) => args[0] === bad && ++reads === 2);
    expect(await killReconciler(rig, read, true)).toBe(ENDS);
    expect(rig.store.apps().map(({ name }) => name)).toEqual(["good"]);
    expect(rig.engine.containers.map(({ name }) => name)).toEqual(["bad", "good"]);
    read[Symbol.dispose]();
    const { reconciler, rebuild, signal } = newReconciler(rig, true);
    await reconciler.reconcile(signal);
    expect(rebuild.isSet).toBe(true);
    await rig.clock.advance(5 * MINUTE_MS);
    await reconciler.reconcile(signal);
    expect(rebuild.isSet).toBe(false);
    expect(rig.store.apps().map(({ name }) => name)).toEqual(["bad", "good"]);
  });
});

it("a note that is damaged counts nothing", async () => {
  await using rig = await installed("app");
  rig.store.saveLearnedValue("crashes", "{");
  await rig.restart("killed");
  expect(rig.crashGuard.allHeld()).toEqual([]);
});
