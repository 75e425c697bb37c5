import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";

/** A rig with a deployed app and a running reconciler. */
async function deployed() {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, ports: [{ host_port: 30_001, target_port: 80 }] });
  await rig.untilEnd("d1");
  const rebuild = { isSet: false, clear: () => void (rebuild.isSet = false) };
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  const stop = new AbortController();
  const running = reconciler.run(stop.signal);
  await rig.clock.advance(0);
  return {
    rig,
    rebuild,
    status: () => rig.engine.container("app")?.status,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("test over"));
      await running;
      await rig[Symbol.asyncDispose]();
    },
  };
}

const remove = (rig: AgentRig) => rig.engine.removeContainer("app", new AbortController().signal);

describe("reconciler", () => {
  it("says which engine there is, once", async () => {
    await using test = await deployed();
    await test.rig.clock.advance(300_000);
    const lines = test.rig.log.filter((line) => line.includes("the container engine answers"));
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ engine: "docker", engine_version: "20.10.0" }),
    ]);
  });

  it("leaves a running app alone", async () => {
    await using test = await deployed();
    const before = test.rig.engine.container("app")?.id;
    await test.rig.clock.advance(300_000);
    expect(test.rig.engine.container("app")?.id).toBe(before);
  });

  it("brings back within a minute an app whose container was removed, without the registry, and says why", async () => {
    await using test = await deployed();
    test.rig.engine.publish(IMAGE, new EngineError("registry_unreachable", "no network"));
    await remove(test.rig);
    await test.rig.clock.advance(60_000);
    expect(test.status()).toBe("running");
    expect(test.rig.engine.container("app")?.request).toMatchObject({ ports: [{ hostPort: 30_001, targetPort: 80 }] });
    expect(test.rig.log.join("")).toContain("repairing the app: its container was removed");
    expect(test.rig.store.apps()[0]?.containerId).toBe(test.rig.engine.container("app")?.id);
  });

  it("leaves a running app alone that somebody gave another name", async () => {
    await using test = await deployed();
    const container = test.rig.engine.container("app")!;
    container.name = "renamed";
    await test.rig.clock.advance(120_000);
    expect([container.name, container.status]).toEqual(["renamed", "running"]);
    expect(test.rig.log.join("")).not.toContain("repairing");
  });

  it("starts an app that was stopped", async () => {
    await using test = await deployed();
    test.rig.engine.container("app")?.stop();
    await test.rig.clock.advance(60_000);
    expect(test.status()).toBe("running");
  });

  it("tries again ever more slowly when a repair does not work, and says when", async () => {
    await using test = await deployed();
    let tries = 0;
    using _refusing = test.rig.engine.faults.onCall(({ method, phase }) => {
      if (method !== "createContainer" || phase !== "before") return;
      tries++;
      throw new EngineError("unknown", "broken");
    });
    await remove(test.rig);
    await test.rig.clock.advance(3_600_000);
    expect(tries).toBeGreaterThan(5);
    expect(tries).toBeLessThan(15);
    expect(test.rig.log.join("")).toContain("next_try_s");
  });

  it("keeps the longest delay between attempts when the engine takes its time", async () => {
    await using test = await deployed();
    const { clock, engine } = test.rig;
    const attempts: number[] = [];
    using _broken = engine.faults.onCall(async ({ method, phase }) => {
      if (phase !== "before") return;
      // A real engine makes each round longer than its interval.
      if (method === "listContainers") await clock.sleep(10);
      if (method !== "createContainer") return;
      attempts.push(clock.monotonic());
      throw new EngineError("unknown", "broken");
    });
    await remove(test.rig);
    await clock.advance(4 * 3_600_000);
    const delays = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
    expect(delays.length).toBeGreaterThan(15);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
  });

  it("waits for an engine that is away, mentions it once, and then goes on", async () => {
    await using test = await deployed();
    await remove(test.rig);
    const away = test.rig.engine.faults.fail("listContainers", new EngineError("unavailable", "gone"), {
      times: 1_000,
    });
    await test.rig.clock.advance(300_000);
    away[Symbol.dispose]();
    await test.rig.clock.advance(60_000);
    expect(test.status()).toBe("running");
    expect(test.rig.log.filter((line) => line.includes("does not answer"))).toHaveLength(1);
  });

  it("finds apps by their containers' labels after the store was lost, and looks after them as before", async () => {
    await using test = await deployed();
    const [before] = test.rig.store.apps();
    test.rig.store.acknowledge("d1", 100);
    test.rig.store.save({ removedApp: "app" });
    test.rebuild.isSet = true;
    await test.rig.clock.advance(60_000);
    expect(test.rig.store.apps()).toEqual([{ ...before, isAdopted: true }]);
    expect(test.rebuild.isSet).toBe(false);
    await remove(test.rig);
    await test.rig.clock.advance(60_000);
    expect(test.status()).toBe("running");
  });

  it("does not take another agent's apps for its own when it looks for lost ones", async () => {
    await using test = await deployed();
    test.rig.store.acknowledge("d1", 100);
    test.rig.store.save({ removedApp: "app" });
    const { name, labels, ...request } = test.rig.engine.container("app")!.request;
    await remove(test.rig);
    const foreign = { ...labels, "io.edge-agent.state-dir": "/somewhere/else" };
    await test.rig.engine.createContainer({ ...request, name, labels: foreign }, new AbortController().signal);
    test.rig.engine.container("app")!.start();
    test.rebuild.isSet = true;
    await test.rig.clock.advance(60_000);
    expect(test.rig.store.apps()).toEqual([]);
    test.rig.deployments.deploy("d2", { name: "app", image: IMAGE });
    expect(await test.rig.untilEnd("d2")).toMatchObject({ code: "ErrorNameExists" });
  });

  it("leaves a deployment that goes on to itself when it looks for lost apps", async () => {
    await using test = await deployed();
    test.rig.deployments.cancel("d1", "requested");
    test.rebuild.isSet = true;
    await test.rig.clock.advance(60_000);
    expect(test.rig.store.apps()).toEqual([]);
  });

  it("has an app that was found again undone when the control plane reported it as lost", async () => {
    await using test = await deployed();
    test.rig.store.acknowledge("d1", 100);
    test.rig.deployments.cancel("d1", "unknown");
    expect(await test.rig.untilEnd("d1")).toMatchObject({ status: "Fail" });
    expect(test.rig.engine.containers).toEqual([]);
    expect(test.rig.store.apps()).toEqual([]);
  });

  it("does not touch what a deployment is at work on, nor what was undone", async () => {
    await using test = await deployed();
    test.rig.deployments.cancel("d1", "not_reachable");
    await test.rig.clock.advance(120_000);
    expect(test.rig.engine.containers).toEqual([]);
  });
});
