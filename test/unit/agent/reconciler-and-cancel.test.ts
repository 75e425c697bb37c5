import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { type Failure, newRecord } from "../../../src/agent/core/records.ts";
import type { EngineMethod } from "../../support/fake-engine/faults.ts";
import type { AgentRig } from "../../support/agent-rig.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";

const IMAGE = "example/app:1";

const deployed = (...names: string[]) => deployedApps(IMAGE, ...names);

const signal = new AbortController().signal;

const nothingIsLeft = (rig: AgentRig): void => {
  expect(rig.engine.containers.map(({ status, request }) => `${request.name} ${status}`)).toEqual([]);
  expect(rig.store.apps().map(({ name }) => name)).toEqual([]);
};

describe("an app that is cancelled while it is being repaired", () => {
  it.each<EngineMethod>(["createContainer", "startContainer", "listContainers"])(
    "is gone in the end, wherever the repair was: %s",
    async (method) => {
      const { rig, reconciler } = await deployed("app");
      await using _rig = rig;
      await rig.engine.removeContainer("app", signal);
      const slow = rig.engine.faults.hang(method);
      const round = reconciler.reconcile(signal);
      await rig.clock.advance(0);
      expect(slow.waiting).toBe(1);
      rig.deployments.cancel("d-app", "not_reachable");
      await rig.clock.advance(100);
      slow[Symbol.dispose]();
      await rig.clock.advance(1_000);
      await round;
      expect(await rig.untilEnd("d-app")).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
      await reconciler.reconcile(signal);
      nothingIsLeft(rig);
    },
  );

  it("is not repaired when its turn comes after that", async () => {
    const { rig, reconciler } = await deployed("first", "second");
    await using _rig = rig;
    for (const name of ["first", "second"]) await rig.engine.removeContainer(name, signal);
    const slow = rig.engine.faults.hang("createContainer");
    const round = reconciler.reconcile(signal);
    await rig.clock.advance(0);
    rig.deployments.cancel("d-second", "not_reachable");
    await rig.untilEnd("d-second");
    slow[Symbol.dispose]();
    await rig.clock.advance(1_000);
    await round;
    expect(rig.engine.containers.map(({ request }) => request.name)).toEqual(["first"]);
    expect(rig.store.apps().map(({ name }) => name)).toEqual(["first"]);
  });
});

describe("a cancellation of what the store does not know any more", () => {
  it("leaves nothing of it when the store was lost and the app was not found again yet", async () => {
    const { rig, reconciler, rebuild } = await deployed("app");
    await using _rig = rig;
    rig.store.acknowledge("d-app", 100);
    rig.store.save({ removedApp: "app" });
    rebuild.isSet = true;
    rig.deployments.cancel("d-app", "unknown");
    await reconciler.reconcile(signal);
    expect(await rig.untilEnd("d-app")).toMatchObject({ status: "Fail" });
    await reconciler.reconcile(signal);
    nothingIsLeft(rig);
  });

  it("removes a container that was never started", async () => {
    const { rig } = await deployed();
    await using _rig = rig;
    await rig.engine.createContainer(
      {
        name: "app",
        image: IMAGE,
        labels: { [LABELS.app]: "app", [LABELS.deployment]: "d-app" },
        environment: [],
        ports: [],
        volumes: [],
        hostNetwork: false,
        privileged: false,
        restartPolicy: "unless-stopped",
        logLimit: { maxBytes: 1_000_000, maxFiles: 1 },
      },
      signal,
    );
    rig.deployments.cancel("d-app", "unknown");
    await rig.untilEnd("d-app");
    nothingIsLeft(rig);
  });

  it("goes on after a restart from the record that was stored for it", async () => {
    const { rig } = await deployed("app");
    await using _rig = rig;
    rig.store.acknowledge("d-app", 100);
    rig.store.save({ removedApp: "app" });
    const failure: Failure = { code: "DeploymentCancelled", message: "Cancelled.", step: "done" };
    const record = newRecord("d-app", rig.store.nextOrder(), undefined, failure);
    rig.store.save({ deployment: { ...record, checked: true, imageId: "unknown" } });
    await rig.restart();
    expect(await rig.untilEnd("d-app")).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
    nothingIsLeft(rig);
  });

  it("changes nothing, and is not told, where the end is remembered", async () => {
    const { rig } = await deployed("app");
    await using _rig = rig;
    rig.deployments.cancel("d-app", "requested");
    await rig.untilEnd("d-app");
    rig.store.acknowledge("d-app", 100);
    rig.deployments.cancel("d-app", "requested");
    expect(rig.deployments.openDeployments()).toEqual([]);
  });
});

describe("a container the engine makes after its deployment has failed", () => {
  it("is removed at the next look", async () => {
    const { rig, reconciler } = await deployed("app");
    await using _rig = rig;
    const { request } = rig.engine.container("app")!;
    rig.deployments.cancel("d-app", "requested");
    await rig.untilEnd("d-app");
    await rig.engine.createContainer(request, signal);
    await reconciler.reconcile(signal);
    nothingIsLeft(rig);
  });

  it("is left to the deployment while that goes on, and to its owner where it is somebody else's", async () => {
    const { rig, reconciler } = await deployed("app");
    await using _rig = rig;
    const { request } = rig.engine.container("app")!;
    await rig.engine.createContainer({ ...request, name: "other", labels: { [LABELS.deployment]: "d-9" } }, signal);
    await reconciler.reconcile(signal);
    expect(rig.engine.containers.map(({ request: { name } }) => name)).toEqual(["app", "other"]);
  });
});

describe("a command that comes again after the end of its deployment", () => {
  it("does not run a second time", async () => {
    const { rig } = await deployed("app");
    await using _rig = rig;
    rig.deployments.cancel("d-app", "requested");
    await rig.untilEnd("d-app");
    rig.store.acknowledge("d-app", 100);
    rig.deployments.deploy("d-app", { name: "app", image: IMAGE });
    await rig.clock.advance(10_000);
    expect(rig.deployments.openDeployments()).toEqual([]);
    nothingIsLeft(rig);
  });
});
