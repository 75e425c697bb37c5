import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const OLD = "example/app:1";
const NEW = "example/app:2";
const PORT = { host_port: 30_001, target_port: 80 };
const CRASHES = { behaviour: { exit: { code: 3, afterMs: 500 }, logs: ["bye"] } };

/** A rig with one app deployed, its old image and a new one on the machine. */
async function deployed(image: Parameters<AgentRig["engine"]["addImage"]>[1] = {}): Promise<AgentRig> {
  const rig = new AgentRig();
  rig.engine.addImage(OLD);
  rig.engine.addImage(NEW, { layers: [5], ...image });
  rig.deployments.deploy("d1", {
    name: "app",
    image: OLD,
    ports: [PORT],
    environments: [{ key: "SECRET", value: "planted-secret" }],
  });
  await rig.untilEnd("d1");
  return rig;
}

const update = (rig: AgentRig, spec: unknown, id = "u1"): Promise<unknown> => {
  rig.deployments.change(id, { action: "update", app: "app", spec });
  return rig.untilEnd(id);
};

const running = (rig: AgentRig) =>
  rig.engine.containers.map(({ name, status, request }) => `${name} ${status} ${request.image}`);

describe("an update", () => {
  it("has the new version run in the old one's place, with what the patch leaves out as it was", async () => {
    await using rig = await deployed();
    expect(await update(rig, { image: NEW })).toMatchObject({
      status: "Success",
      message: "App app is updated and running.",
    });
    expect(running(rig)).toEqual([`app running ${NEW}`]);
    expect(rig.engine.container("app")?.request).toMatchObject({
      environment: ["SECRET=planted-secret"],
      ports: [{ hostPort: 30_001, targetPort: 80 }],
      labels: { "io.edge-agent.app": "app", "io.edge-agent.deployment": "u1" },
    });
    expect(rig.store.apps()).toMatchObject([{ name: "app", deploymentId: "u1", desired: "running" }]);
    expect(rig.events("u1").map(({ step }) => step)).toEqual(
      "checking pulling pulling creating starting verifying done".split(" "),
    );
  });

  it("stops the old version only when everything else is done, and does nothing else before the new one starts", async () => {
    await using rig = await deployed();
    const calls: string[] = [];
    rig.engine.faults.onCall(({ method, phase }) => void (phase === "before" && calls.push(method)));
    await update(rig, { image: NEW });
    const stop = calls.indexOf("stopContainer");
    expect(calls.slice(0, stop)).toEqual(expect.arrayContaining(["createContainer", "renameContainer"]));
    expect(calls[stop + 1]).toBe("startContainer");
  });

  it("that changes nothing restarts nothing, and says so", async () => {
    await using rig = await deployed();
    const before = rig.engine.container("app")?.id;
    for (const [index, patch] of [{}, { ports: [PORT] }, { image: OLD }].entries()) {
      expect(await update(rig, patch, `u${index}`)).toMatchObject({
        status: "Success",
        message: expect.stringContaining("was not restarted"),
      });
    }
    expect(rig.engine.container("app")?.id).toBe(before);
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "d1" }]);
  });

  it("that names no image keeps the one in force, with no registry and whatever its tag has come to mean", async () => {
    await using rig = await deployed();
    const before = rig.store.apps()[0]?.imageId;
    rig.engine.removeImage(OLD);
    rig.engine.addImage("renamed/app:1");
    rig.engine.publish(OLD, new EngineError("registry_unreachable", "no network"));
    expect(await update(rig, { environments: [] })).toMatchObject({ status: "Success" });
    expect(rig.store.apps()[0]?.imageId).toBe(before);
    expect(rig.engine.container("app")?.request.environment).toEqual([]);
  });

  it("to a tag that moves asks for it again, and is one if there is something new", async () => {
    await using rig = await deployed();
    rig.engine.publish("example/app:latest", { layers: [1] });
    await update(rig, { image: "example/app:latest" }, "u1");
    const first = rig.engine.container("app")?.id;
    expect(await update(rig, { image: "example/app:latest" }, "u2")).toMatchObject({
      message: expect.stringContaining("was not restarted"),
    });
    expect(rig.engine.container("app")?.id).toBe(first);
    rig.engine.publish("example/app:latest", { layers: [2] });
    await update(rig, { image: "example/app:latest" }, "u3");
    expect(rig.engine.container("app")?.id).not.toBe(first);
  });

  it("finds no conflict in the ports the app holds itself, and one in those of others", async () => {
    await using rig = await deployed();
    rig.host.listening.set(30_001, { pid: 7, name: "docker-proxy" });
    rig.host.listening.set(30_005, { pid: 8, name: "other" });
    expect(await update(rig, { privileged: true }, "u1")).toMatchObject({ status: "Success" });
    const before = rig.engine.container("app")?.id;
    const taken = { ports: [{ host_port: 30_005, target_port: 80 }] };
    expect(await update(rig, taken, "u2")).toMatchObject({
      code: "ErrorPortInUse",
      message: "The desired port is already in use.",
      details: {
        holder: { kind: "process", name: "other" },
        rolled_back: false,
        note: "The previous version was not touched.",
      },
    });
    expect(rig.engine.container("app")?.id).toBe(before);
  });

  it("remembers the image it replaced, and the one before that no more", async () => {
    await using rig = await deployed();
    const ids = [rig.store.apps()[0]?.imageId];
    await update(rig, { image: NEW }, "u1");
    ids.push(rig.store.apps()[0]?.imageId);
    expect(rig.store.apps()[0]?.previousImageId).toBe(ids[0]);
    await update(rig, { environments: [] }, "u2");
    expect(rig.store.apps()[0]?.previousImageId).toBe(ids[0]);
    await update(rig, { image: OLD }, "u3");
    expect(rig.store.apps()[0]).toMatchObject({ imageId: ids[0], previousImageId: ids[1] });
  });

  it("of a stopped app leaves it stopped, and says so; started, it is the new version", async () => {
    await using rig = await deployed();
    rig.deployments.change("s1", { action: "stop", app: "app" });
    await rig.untilEnd("s1");
    expect(await update(rig, { image: NEW })).toMatchObject({ message: expect.stringContaining("stays stopped") });
    expect(running(rig)).toEqual([`app created ${NEW}`]);
    rig.deployments.change("s2", { action: "start", app: "app" });
    expect(await rig.untilEnd("s2")).toMatchObject({ status: "Success" });
    expect(running(rig)).toEqual([`app running ${NEW}`]);
  });
});

describe("an update that does not hold", () => {
  it.each([
    ["crashes", CRASHES, "CrashLoopBackOff"],
    ["becomes unhealthy", { behaviour: { health: { becomes: "unhealthy", afterMs: 900 } } }, "Unhealthy"],
    ["hangs", { behaviour: { health: { becomes: "healthy" } } }, "Unhealthy"],
  ] as const)("because the new version %s goes back to the old container, offline", async (_how, image, code) => {
    await using rig = await deployed(image);
    const before = rig.engine.container("app")?.id;
    rig.engine.publish(OLD, new EngineError("registry_unreachable", "no network"));
    expect(await update(rig, { image: NEW })).toMatchObject({
      status: "Fail",
      code,
      message: expect.stringMatching(/\. The previous version runs again\.$/),
      details: { rolled_back: true, previous: { deployment_id: "d1", image: OLD } },
    });
    expect(running(rig)).toEqual([`app running ${OLD}`]);
    expect(rig.engine.container("app")?.id).toBe(before);
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "d1", containerId: before }]);
    expect(rig.events("u1").map(({ step }) => step)).toContain("rolling_back");
  });

  it("because a port was taken between the check and the start goes back", async () => {
    await using rig = await deployed();
    using _port = rig.engine.occupyPort(30_002);
    expect(await update(rig, { ports: [{ host_port: 30_002, target_port: 80 }] })).toMatchObject({
      code: "ErrorPortInUse",
      message: "The desired port is already in use.",
      details: { host_port: 30_002, rolled_back: true, note: "The previous version runs again." },
    });
    expect(running(rig)).toEqual([`app running ${OLD}`]);
  });

  it.each([
    ["image_not_found", "ImagePullBackOff"],
    ["no_space", "InsufficientDisk"],
  ] as const)("because its image cannot be had (%s) never touched the old one", async (kind, code) => {
    await using rig = await deployed();
    const before = rig.engine.container("app")?.state.startedAt;
    rig.engine.publish("example/app:3", new EngineError(kind, "says the registry"));
    expect(await update(rig, { image: "example/app:3" })).toMatchObject({
      code,
      message: expect.stringContaining("The previous version was not touched."),
    });
    expect(rig.engine.container("app")?.state.startedAt).toBe(before);
    expect(rig.engine.containers).toHaveLength(1);
  });

  it("makes the old container anew, from the image that is there, where somebody removed it meanwhile", async () => {
    await using rig = await deployed(CRASHES);
    rig.engine.faults.onCall(async ({ method, phase, args, signal }) => {
      if (method !== "startContainer" || phase !== "after") return;
      const old = rig.engine.container("app.edge-agent-old");
      if (old && args[0] !== old.id) await rig.engine.removeContainer(old.id, signal);
    });
    expect(await update(rig, { image: NEW })).toMatchObject({
      code: "CrashLoopBackOff",
      details: { rolled_back: true },
    });
    expect(rig.engine.containers.map(({ name, status }) => `${name} ${status}`)).toEqual(["app running"]);
    expect(rig.store.apps()).toMatchObject([{ containerId: rig.engine.container("app")?.id, deploymentId: "d1" }]);
  });

  it("says so plainly when the old version cannot be brought back either, and the reconciler goes on trying", async () => {
    await using rig = await deployed(CRASHES);
    let old: string | undefined = rig.engine.container("app")?.id;
    rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method === "startContainer" && phase === "before" && args[0] === old) {
        throw new EngineError("unknown", "cannot mount planted-secret");
      }
    });
    expect(await update(rig, { image: NEW })).toMatchObject({
      code: "CrashLoopBackOff",
      message: expect.stringMatching(
        /could not be brought back either: .*cannot mount \*\*\*\. The agent goes on trying/,
      ),
      details: { rolled_back: false, rollback_failure: { code: "Internal" } },
    });
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "d1" }]);
    expect(rig.engine.container("app")?.status).not.toBe("running");
    old = undefined;
    const reconciler = new AppReconciler({
      ...rig.services,
      rebuild: { isSet: false, clear: () => {} },
      lease: (app) => rig.deployments.lease(app),
      endedRuns: () => rig.deployments.endedRuns,
    });
    await reconciler.reconcile(new AbortController().signal);
    expect(running(rig)).toEqual([`app running ${OLD}`]);
  });

  it("ends the new version gently when it is cancelled, and brings the old one back", async () => {
    await using rig = await deployed({ behaviour: { endsAfterMs: 2_000 } });
    rig.deployments.change("u1", { action: "update", app: "app", spec: { image: NEW } });
    await rig.clock.advance(1_000);
    const stopped: unknown[] = [];
    rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method === "stopContainer" && phase === "before") stopped.push(args[0]);
    });
    const fresh = rig.engine.container("app")?.id;
    rig.deployments.cancel("u1", "requested");
    expect(await rig.untilEnd("u1")).toMatchObject({ code: "DeploymentCancelled", details: { rolled_back: true } });
    expect(stopped).toEqual([fresh]);
    expect(running(rig)).toEqual([`app running ${OLD}`]);
  });
});

describe("an update that was told as a success, and is then cancelled", () => {
  it("is undone: the app is as it was, its container made anew", async () => {
    await using rig = await deployed();
    await update(rig, { image: NEW });
    rig.deployments.cancel("u1", "timeout");
    expect(await rig.untilEnd("u1")).toMatchObject({ code: "DeploymentCancelled", details: { rolled_back: true } });
    const { imageId } = rig.store.apps()[0]!;
    expect(running(rig)).toEqual([`app running ${imageId}`]);
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "d1", spec: { image: OLD } }]);
    expect(rig.engine.container("app")?.request.environment).toEqual(["SECRET=planted-secret"]);
  });

  it("stays where a later change has taken its place", async () => {
    await using rig = await deployed();
    await update(rig, { image: NEW }, "u1");
    await update(rig, { environments: [] }, "u2");
    rig.deployments.cancel("u1", "timeout");
    expect(await rig.untilEnd("u1")).toMatchObject({ code: "DeploymentCancelled" });
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "u2" }]);
    expect(rig.engine.containers.map(({ name, status }) => `${name} ${status}`)).toEqual(["app running"]);
  });

  it("waits for a change that is going on, also over a restart of the agent, and then looks what is left to undo", async () => {
    await using rig = await deployed();
    await update(rig, { image: NEW }, "u1");
    rig.deployments.change("u2", { action: "update", app: "app", spec: { environments: [] } });
    await rig.clock.advance(500);
    rig.deployments.cancel("u1", "timeout");
    await rig.clock.advance(100);
    await rig.restart();
    expect(await rig.untilEnd("u2")).toMatchObject({ status: "Success" });
    expect(await rig.untilEnd("u1")).toMatchObject({ code: "DeploymentCancelled" });
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "u2" }]);
    expect(rig.engine.containers).toHaveLength(1);
  });
});
