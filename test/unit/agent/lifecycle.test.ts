import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { DeviceDeployments } from "../../../src/agent/steps/deployments.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import type { AppAction } from "../../../src/protocol/deployments/deployment-action.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;

async function deployed(image: Parameters<AgentRig["engine"]["addImage"]>[1] = {}): Promise<AgentRig> {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE, image);
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, volumes: [{ local: "/data", target: "/data" }] });
  await rig.untilEnd("d1");
  return rig;
}

let count = 0;
const change = (rig: AgentRig, action: AppAction, spec?: unknown): Promise<unknown> => {
  const id = `c${++count}`;
  rig.deployments.change(id, { action, app: "app", spec });
  return rig.untilEnd(id);
};

function reconcilerOf(rig: AgentRig): AppReconciler {
  const rebuild = { isSet: false, clear: () => {} };
  return new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
}

const status = (rig: AgentRig) => rig.engine.container("app")?.status;

describe("stop", () => {
  it("stops the app with time to end, and keeps it stopped, whatever the reconciler observes", async () => {
    await using rig = await deployed({ behaviour: { endsAfterMs: 4_000 } });
    expect(await change(rig, "stop")).toMatchObject({
      status: "Success",
      message: expect.stringContaining("stays so"),
    });
    expect(status(rig)).toBe("exited");
    expect(rig.store.apps()).toMatchObject([{ desired: "stopped" }]);
    for (let round = 0; round < 3; round++) await reconcilerOf(rig).reconcile(signal);
    expect(status(rig)).toBe("exited");
    await rig.restart();
    rig.engine.container("app")?.start();
    const round = reconcilerOf(rig).reconcile(signal);
    await rig.clock.advance(5_000);
    await round;
    expect(status(rig)).toBe("exited");
  });

  it("of a stopped app is a success that says so", async () => {
    await using rig = await deployed();
    await change(rig, "stop");
    expect(await change(rig, "stop")).toMatchObject({ message: "App app was stopped already." });
  });

  it("that is cancelled in the middle has the app run again", async () => {
    await using rig = await deployed({ behaviour: { endsAfterMs: 4_000 } });
    rig.deployments.change("s", { action: "stop", app: "app" });
    await rig.clock.advance(1_000);
    rig.deployments.cancel("s", "requested");
    expect(await rig.untilEnd("s")).toMatchObject({ message: expect.stringContaining("The app runs again.") });
    expect(status(rig)).toBe("running");
    expect(rig.store.apps()).toMatchObject([{ desired: "running" }]);
  });

  it("that was told as a success and is then cancelled has the app run again", async () => {
    await using rig = await deployed();
    rig.deployments.change("s", { action: "stop", app: "app" });
    await rig.untilEnd("s");
    rig.deployments.cancel("s", "timeout");
    await rig.untilEnd("s");
    expect(status(rig)).toBe("running");
    expect(rig.store.apps()).toMatchObject([{ desired: "running" }]);
  });
});

describe("start", () => {
  it("runs the same container, verified", async () => {
    await using rig = await deployed();
    const before = rig.engine.container("app")?.id;
    await change(rig, "stop");
    expect(await change(rig, "start")).toMatchObject({ status: "Success" });
    expect(rig.engine.container("app")).toMatchObject({ id: before, status: "running" });
    expect(rig.store.apps()).toMatchObject([{ desired: "running" }]);
  });

  it("makes a container that was removed anew", async () => {
    await using rig = await deployed();
    await change(rig, "stop");
    await rig.engine.removeContainer("app", signal);
    expect(await change(rig, "start")).toMatchObject({ status: "Success" });
    expect(status(rig)).toBe("running");
  });

  it("of an app that crashes fails, and leaves it stopped as it was", async () => {
    await using rig = await deployed();
    await change(rig, "stop");
    using _broken = rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method === "startContainer" && phase === "after") rig.engine.container(String(args[0]))?.exit(5);
    });
    expect(await change(rig, "start")).toMatchObject({
      code: "CrashLoopBackOff",
      message: expect.stringContaining("The app is stopped, as before."),
    });
    expect(status(rig)).toBe("exited");
    expect(rig.store.apps()).toMatchObject([{ desired: "stopped" }]);
  });
});

describe("restart", () => {
  it("is another run of the same container", async () => {
    await using rig = await deployed();
    const before = rig.engine.container("app")!.state;
    await rig.clock.advance(1_000);
    expect(await change(rig, "restart")).toMatchObject({ message: "App app was restarted and is running." });
    const after = rig.engine.container("app")!.state;
    expect(after.id).toBe(before.id);
    expect(after.startedAt).not.toBe(before.startedAt);
  });

  it("of a stopped app has it run from then on", async () => {
    await using rig = await deployed();
    await change(rig, "stop");
    expect(await change(rig, "restart")).toMatchObject({ status: "Success" });
    expect(rig.store.apps()).toMatchObject([{ desired: "running" }]);
  });

  it("of a paused app runs it from the beginning", async () => {
    await using rig = await deployed();
    rig.engine.container("app")?.pause();
    expect(await change(rig, "start")).toMatchObject({ status: "Success" });
    expect(status(rig)).toBe("running");
  });
});

describe("remove", () => {
  it("ends the app gently, removes its container and forgets it", async () => {
    await using rig = await deployed();
    const calls: string[] = [];
    rig.engine.faults.onCall(({ method, phase }) => void (phase === "before" && calls.push(method)));
    expect(await change(rig, "remove")).toMatchObject({ status: "Success", message: "App app is removed." });
    expect(calls).toEqual(expect.arrayContaining(["stopContainer", "removeContainer"]));
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
    rig.deployments.deploy("d2", { name: "app", image: IMAGE });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
  });

  it("removes what an engine makes late of an app that is removed, and of nobody else's", async () => {
    await using rig = await deployed();
    const { request } = rig.engine.container("app")!;
    await change(rig, "remove");
    await rig.engine.createContainer(request, signal);
    const labels = { ...request.labels, "io.edge-agent.state-dir": "/elsewhere" };
    await rig.engine.createContainer({ ...request, name: "other", labels }, signal);
    await reconcilerOf(rig).reconcile(signal);
    expect(rig.engine.containers.map(({ name }) => name)).toEqual(["other"]);
  });

  it("that was told as a success and is then cancelled brings the app back", async () => {
    await using rig = await deployed();
    rig.deployments.change("r", { action: "remove", app: "app" });
    await rig.untilEnd("r");
    rig.deployments.cancel("r", "not_reachable");
    expect(await rig.untilEnd("r")).toMatchObject({ details: { rolled_back: true } });
    expect(status(rig)).toBe("running");
    expect(rig.store.apps()).toMatchObject([{ name: "app", deploymentId: "d1" }]);
  });
});

describe("what cannot be done", () => {
  const ACTIONS: readonly AppAction[] = ["update", "remove", "stop", "start", "restart"];

  it.each(ACTIONS)("%s of an app that is not there, or is not the agent's", async (action) => {
    await using rig = await deployed();
    const { request } = rig.engine.container("app")!;
    await rig.engine.createContainer({ ...request, name: "foreign", labels: {} }, signal);
    rig.engine.container("foreign")?.start();
    for (const app of ["nobody", "foreign"]) {
      rig.deployments.change(`x-${app}`, { action, app });
      expect(await rig.untilEnd(`x-${app}`)).toMatchObject({ status: "Fail", code: "AppNotFound" });
    }
    expect(rig.engine.container("foreign")?.status).toBe("running");
  });

  it.each(ACTIONS)("%s of an app that is being deployed, updated or removed", async (action) => {
    await using rig = await deployed();
    rig.engine.publish("example/app:2", { pullMs: 10_000 });
    rig.deployments.deploy("d2", { name: "second", image: "example/app:2" });
    rig.deployments.change("u", { action: "update", app: "app", spec: { image: "example/app:2" } });
    await rig.clock.advance(1_000);
    rig.deployments.change("x1", { action, app: "second" });
    rig.deployments.change("x2", { action, app: "app" });
    expect(await rig.untilEnd("x1")).toMatchObject({
      code: "ErrorDeploymentAlreadyExist",
      details: { deployment_id: "d2" },
    });
    expect(await rig.untilEnd("x2")).toMatchObject({ details: { deployment_id: "u" } });
    expect(await rig.untilEnd("u")).toMatchObject({ status: "Success" });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
  });

  it.each(["remove", "stop", "start", "restart"] as const)(
    "trying %s without doing it: it is refused, not done",
    async (action) => {
      await using rig = await deployed();
      rig.deployments.change("x", { action, app: "app", options: { dry_run: true } });
      expect(await rig.untilEnd("x")).toMatchObject({ code: "InvalidRequest" });
      expect(status(rig)).toBe("running");
    },
  );

  it("an update with a patch that is none: the app goes on, and the fields are named", async () => {
    await using rig = await deployed();
    expect(await change(rig, "update", { bogus: 1 })).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringContaining("The previous version was not touched."),
      details: { issues: [{ path: "bogus" }] },
    });
    expect(status(rig)).toBe("running");
  });

  it.each(ACTIONS)("%s while the engine is away fails at once, and changes nothing", async (action) => {
    await using rig = await deployed();
    const spec = { privileged: true };
    using away = rig.engine.faults.fail("listContainers", new EngineError("unavailable", "gone"), { times: 100 });
    rig.deployments.change("x", { action, app: "app", spec });
    expect(await rig.untilEnd("x", 1_000)).toMatchObject({ code: "EngineUnavailable" });
    away[Symbol.dispose]();
    expect(status(rig)).toBe("running");
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "d1", desired: "running" }]);
  });

  it("anything of apps that are yet to be found again: it is refused, to be asked again", async () => {
    await using rig = await deployed();
    const deployments = new DeviceDeployments(rig.services, () => true);
    expect(() => deployments.change("x", { action: "stop", app: "other" })).toThrow(/try again shortly/);
    await deployments[Symbol.asyncDispose]();
  });
});

describe("an agent whose store was lost in the middle of an update", () => {
  it.each([
    ["before the switch", "createContainer"],
    ["during it", "renameContainer"],
    ["after the old version was stopped", "stopContainer"],
    ["after the new one was started", "startContainer"],
  ] as const)("%s finds the old version to be the app, and removes the new one", async (_when, method) => {
    await using rig = await deployed();
    rig.engine.addImage("example/app:2", { layers: [3] });
    const seen = rig.engine.faults.hang(method, "after");
    rig.deployments.change("u", { action: "update", app: "app", spec: { image: "example/app:2" } });
    await rig.clock.advance(0);
    expect(seen.waiting).toBe(1);
    await using fresh = new AgentRig();
    const services = { ...fresh.services, engine: rig.engine, clock: rig.clock };
    await rig.deployments[Symbol.asyncDispose]();
    seen[Symbol.dispose]();
    await using deployments = new DeviceDeployments(services);
    const rebuild = { isSet: true, clear: () => void (rebuild.isSet = false) };
    const reconciler = new AppReconciler({
      ...services,
      rebuild,
      lease: (app) => deployments.lease(app),
      endedRuns: () => deployments.endedRuns,
    });
    await reconciler.reconcile(signal);
    expect(fresh.store.apps()).toMatchObject([{ name: "app", deploymentId: "d1", spec: { image: IMAGE } }]);
    expect(rig.engine.containers.map(({ name, status: state, request }) => [name, state, request.image])).toEqual([
      ["app", "running", IMAGE],
    ]);
  });
});
