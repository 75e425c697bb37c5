import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { readDeviceState } from "../../../src/agent/live/device-state.ts";
import { findAppContainer } from "../../../src/agent/apps/find-app-container.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const COPY = "example/copy:1";
const signal = new AbortController().signal;

/** A rig with a deployed app and a reconciler that the test runs. */
async function deployed(fields: object = {}, labels: Readonly<Record<string, string>> = {}) {
  const rig = new AgentRig();
  rig.engine.addImage(IMAGE, { labels });
  rig.deployments.deploy("d1", { name: "app", image: IMAGE, ...fields });
  await rig.untilEnd("d1");
  const rebuild = { isSet: false, clear: () => void (rebuild.isSet = false) };
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  /** Loses the store and runs the reconciler. */
  const loseStore = async () => {
    rig.store.acknowledge("d1", 100);
    rig.store.save({ removedApp: "app" });
    rebuild.isSet = true;
    await reconciler.reconcile(signal);
  };
  return { rig, reconciler, loseStore };
}

type Rig = AgentRig;

/** Somebody runs what was committed from the app's container, as `docker run --name NAME COPY` does. */
async function runCopy(rig: Rig, name: string): Promise<string> {
  const { request } = rig.engine.container("app")!;
  rig.engine.addImage(COPY, { labels: request.labels });
  const id = await rig.engine.createContainer({ ...request, name, image: COPY, labels: {}, ports: [] }, signal);
  await rig.engine.startContainer(id, signal);
  return id;
}

/** Some tool makes a container anew with every label given by hand, as a console's "duplicate" does. */
async function duplicate(rig: Rig, name: string): Promise<string> {
  const { request } = rig.engine.container("app")!;
  const id = await rig.engine.createContainer({ ...request, name, ports: [] }, signal);
  await rig.engine.startContainer(id, signal);
  return id;
}

describe.each([
  ["a committed copy", runCopy],
  ["a duplicate with the same labels", duplicate],
])("%s of an app's container", (_, make) => {
  it("is not the app, whatever is done to that", async () => {
    const { rig, reconciler } = await deployed();
    await using _rig = rig;
    const { containerId } = rig.store.apps()[0]!;
    const copy = await make(rig, "lab");
    await reconciler.reconcile(signal);
    expect(rig.engine.container(containerId)?.status).toBe("running");
    expect(rig.store.apps()[0]?.containerId).toBe(containerId);
    const state = await readDeviceState(
      {
        ...rig.services,
        stateDir: rig.services.config.stateDir,
        facts: async () => ({}) as never,
        readings: async () => ({}) as never,
        agentUptimeS: () => 1,
      },
      signal,
    );
    expect(state.containers.map(({ name, app }) => [name, app])).toEqual([
      ["app", "app"],
      ["lab", null],
    ]);
    for (const [id, action] of [
      ["c1", "restart"],
      ["c2", "update"],
      ["c3", "stop"],
      ["c4", "remove"],
    ] as const) {
      const spec = { environments: [{ key: "A", value: "b" }] };
      rig.deployments.change(id, { action, app: "app", ...(action === "update" && { spec }) });
      expect([id, await rig.untilEnd(id)]).toMatchObject([id, { status: "Success" }]);
      await reconciler.reconcile(signal);
      expect([id, rig.engine.container(copy)?.status]).toEqual([id, "running"]);
    }
    rig.deployments.deploy("d2", { name: "app", image: IMAGE });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    expect(rig.engine.container(copy)?.status).toBe("running");
  });

  it("is not the app either where that has no container any more, and not read as its log", async () => {
    const { rig, reconciler } = await deployed();
    await using _rig = rig;
    const copy = await make(rig, "lab");
    await rig.engine.removeContainer("app", signal);
    expect(await findAppContainer(rig.store.apps()[0]!, rig.engine, signal)).toBeUndefined();
    await reconciler.reconcile(signal);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(rig.engine.container(copy)?.status).toBe("running");
    expect(rig.store.apps()[0]?.containerId).toBe(rig.engine.container("app")?.id);
  });

  it("survives the failure of the deployment it was made of", async () => {
    const { rig, reconciler } = await deployed();
    await using _rig = rig;
    const copy = await make(rig, "lab");
    rig.deployments.cancel("d1", "timeout");
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail" });
    await reconciler.reconcile(signal);
    expect(rig.engine.containers.map(({ id }) => id)).toEqual([copy]);
  });

  it("is not found as an app after a lost store", async () => {
    const { rig, loseStore } = await deployed();
    await using _rig = rig;
    const copy = await make(rig, "lab");
    await rig.engine.removeContainer("app", signal);
    await loseStore();
    expect(rig.store.apps()).toEqual([]);
    expect(rig.engine.container(copy)?.status).toBe("running");
    expect(rig.log.join("")).toContain("it is treated as a copy and left alone");
  });
});

it("an app that a person gave another name stays the app: it is undone, updated and removed by its id", async () => {
  for (const what of ["undo", "update", "remove"] as const) {
    const { rig, reconciler } = await deployed();
    await using _rig = rig;
    const container = rig.engine.container("app")!;
    container.name = "renamed";
    await reconciler.reconcile(signal);
    expect(rig.engine.container("renamed")?.status).toBe("running");
    if (what === "undo") rig.deployments.cancel("d1", "timeout");
    else {
      const spec = { environments: [{ key: "A", value: "b" }] };
      rig.deployments.change("c1", { action: what, app: "app", ...(what === "update" && { spec }) });
    }
    await rig.untilEnd(what === "undo" ? "d1" : "c1");
    expect(rig.engine.containers.map(({ name }) => name)).toEqual(what === "update" ? ["app"] : []);
  }
});

it("a container whose creation was not recorded is found by its name and its labels", async () => {
  const rig = new AgentRig();
  await using _rig = rig;
  rig.engine.addImage(IMAGE);
  const slow = rig.engine.faults.hang("createContainer", "after");
  rig.deployments.deploy("d1", { name: "app", image: IMAGE });
  await rig.clock.advance(100);
  expect(slow.waiting).toBe(1);
  const { id } = rig.engine.container("app")!;
  const restarted = rig.restart();
  slow[Symbol.dispose]();
  await restarted;
  expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  expect(rig.engine.containers.map((container) => container.id)).toEqual([id]);
});

/** A container as the release before made it: with no label where it had nothing to say. */
async function madeByReleaseBefore(rig: Rig, left: readonly string[], image: Readonly<Record<string, string>>) {
  const { request } = rig.engine.container("app")!;
  await rig.engine.removeContainer("app", signal);
  const labels = Object.fromEntries(Object.entries(request.labels).filter(([label]) => !left.includes(label)));
  rig.engine.addImage(IMAGE, { labels: image });
  await rig.engine.createContainer({ ...request, labels }, signal);
  await rig.engine.startContainer("app", signal);
}

describe("after a lost store", () => {
  const extras = JSON.stringify({ devices: [{ local: "/dev/kmsg", target: "/dev/kmsg", permissions: "rwm" }] });
  const evil = { [LABELS.extras]: extras, [LABELS.image]: "evil/image:1", [LABELS.previousImage]: "sha256:evil" };

  it("nothing is believed of what the image's labels claim", async () => {
    const { rig, loseStore } = await deployed({ memory_limit: 64_000_000 }, evil);
    await using _rig = rig;
    const [before] = rig.store.apps();
    await loseStore();
    expect(rig.store.apps()).toEqual([{ ...before, isAdopted: true }]);
  });

  it("nor where the release before had left them to the image", async () => {
    const { rig, loseStore } = await deployed();
    await using _rig = rig;
    const [before] = rig.store.apps();
    await madeByReleaseBefore(rig, [LABELS.extras, LABELS.previousImage], evil);
    await loseStore();
    expect(rig.store.apps()).toMatchObject([{ spec: before!.spec }]);
    expect(rig.store.apps()[0]?.previousImageId).toBeUndefined();
    expect(rig.store.apps()[0]?.spec.devices).toBeUndefined();
  });

  it("and an image that repeats what was asked for takes nothing of it away", async () => {
    const { rig, loseStore } = await deployed({ memory_limit: 64_000_000, command: ["serve"] });
    await using _rig = rig;
    const [before] = rig.store.apps();
    const { labels } = rig.engine.container("app")!.request;
    await madeByReleaseBefore(rig, [], { [LABELS.extras]: labels[LABELS.extras]!, [LABELS.image]: IMAGE });
    await loseStore();
    expect(rig.store.apps()[0]?.spec).toEqual(before?.spec);
  });

  it("an app that was stopped runs again, since nothing but the store says that it is to be stopped", async () => {
    const { rig, reconciler, loseStore } = await deployed();
    await using _rig = rig;
    rig.deployments.change("s1", { action: "stop", app: "app" });
    await rig.untilEnd("s1");
    rig.store.acknowledge("s1", 100);
    expect(rig.engine.container("app")?.status).toBe("exited");
    await loseStore();
    await reconciler.reconcile(signal);
    expect(rig.store.apps()).toMatchObject([{ name: "app", desired: "running" }]);
    expect(rig.engine.container("app")?.status).toBe("running");
  });

  it("a container that a person gave another name is not found, left alone, and named in the log", async () => {
    const { rig, reconciler, loseStore } = await deployed();
    await using _rig = rig;
    rig.engine.container("app")!.name = "renamed";
    await loseStore();
    await reconciler.reconcile(signal);
    expect(rig.store.apps()).toEqual([]);
    expect(rig.engine.containers.map(({ name, status }) => [name, status])).toEqual([["renamed", "running"]]);
    expect(rig.log.map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ app: "app", container: "renamed", msg: expect.stringContaining("left alone") }),
    );
  });

  it("an app is found as it was asked for also where its image is gone", async () => {
    const { rig, loseStore } = await deployed({ environments: [{ key: "A", value: "b" }], memory_limit: 64_000_000 });
    await using _rig = rig;
    const [before] = rig.store.apps();
    const container = rig.engine.container("app")!;
    // Engines list what the image brings behind what was asked for.
    Object.assign(container.request, { environment: ["A=b", "PATH=/bin", "OF=the image"] });
    rig.engine.removeImages();
    await loseStore();
    expect(rig.store.apps()[0]?.spec).toEqual(before?.spec);
  });
});

describe("an undone stop", () => {
  it("gives way to a stop that came after it", async () => {
    const { rig, reconciler } = await deployed();
    await using _rig = rig;
    for (const [id, action] of [
      ["s1", "stop"],
      ["s2", "start"],
      ["s3", "stop"],
    ] as const) {
      rig.deployments.change(id, { action, app: "app" });
      expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
    }
    // The control plane had given the first one up before its success arrived.
    rig.deployments.cancel("s1", "timeout");
    await rig.untilEnd("s1");
    await reconciler.reconcile(signal);
    expect(rig.store.apps()).toMatchObject([{ desired: "stopped" }]);
    expect(rig.engine.container("app")?.status).toBe("exited");
  });

  it("has the app run again where nothing came after it", async () => {
    const { rig } = await deployed();
    await using _rig = rig;
    rig.deployments.change("s1", { action: "stop", app: "app" });
    await rig.untilEnd("s1");
    rig.deployments.cancel("s1", "timeout");
    expect(await rig.untilEnd("s1")).toMatchObject({ status: "Fail" });
    expect(rig.store.apps()).toMatchObject([{ desired: "running" }]);
    expect(rig.engine.container("app")?.status).toBe("running");
  });
});

it("a command that was accepted during a repair does not write back what was before it", async () => {
  const { rig, reconciler } = await deployed();
  await using _rig = rig;
  await rig.engine.removeContainer("app", signal);
  const slow = rig.engine.faults.hang("createContainer", "after");
  const round = reconciler.reconcile(signal);
  await rig.clock.advance(0);
  expect(slow.waiting).toBe(1);
  rig.deployments.change("s1", { action: "stop", app: "app" });
  slow[Symbol.dispose]();
  await rig.clock.advance(1_000);
  await round;
  expect(await rig.untilEnd("s1")).toMatchObject({ status: "Success" });
  const container = rig.engine.container("app");
  expect(rig.store.apps()).toMatchObject([{ desired: "stopped", containerId: container?.id }]);
  expect(container?.status).toBe("exited");
});
