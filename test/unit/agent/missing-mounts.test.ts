import { describe, expect, it } from "vitest";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AgentRig } from "../../support/agent-rig.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";

const IMAGE = "example/node-red:1";
const OWNER = { uid: 1000, gid: 1000 };
const DATA = { kind: "directory", mode: 0o770, owner: OWNER, content: undefined } as const;
const signal = new AbortController().signal;

function newRig(): AgentRig {
  const rig = new AgentRig();
  rig.engine.files.addEmptyDirectory("/srv");
  rig.engine.addImage(IMAGE, { user: "1000:1000", files: { "/data": DATA, "/app.conf": { ...DATA, kind: "file" } } });
  return rig;
}

const request = (local: string, target = "/data") => ({ name: "app", image: IMAGE, volumes: [{ local, target }] });

describe("a volume that does not exist on the device", () => {
  it("is made as a directory of the app's user", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request("/srv/node-red"));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.files.find("/srv/node-red")).toEqual({ kind: "directory", mode: 0o770, owner: OWNER });
    expect(rig.events("d1").map(({ message }) => message)).toContain(
      "/srv/node-red does not exist on the device: the directory is made, owned by 1000:1000.",
    );
  });

  it("is made once for two volumes of the same path, and each of several", async () => {
    await using rig = newRig();
    const volumes = ["/srv/a", "/srv/b/", "/srv/a"].map((local, index) => ({ local, target: `/data/${index}` }));
    rig.deployments.deploy("d1", { ...request("/"), volumes });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    for (const path of ["/srv/a", "/srv/b"]) {
      expect(rig.engine.files.find(path)).toEqual({ kind: "directory", mode: 0o755, owner: OWNER });
    }
  });

  it.each([
    ["/srv/mosquitto.conf", "/etc/mosquitto.conf"],
    ["/srv/config", "/app.conf"],
  ])("is a failure where the app mounts a file, and nothing is left: %s", async (local, target) => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(local, target));
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      step: "creating",
      code: "InvalidRequest",
      message: `${local} does not exist on the device, and the app mounts it as a file. Put the file there first.`,
      details: { path: local, target, issues: [{ path: "volumes[0].local" }] },
    });
    expect(rig.engine.files.find(local)).toBeUndefined();
    expect(rig.engine.containers).toEqual([]);
    expect(rig.store.apps()).toEqual([]);
  });

  it.each([
    ["is not there", { local: "/srv/mosquitto.conf", target: "/etc/mosquitto.conf", missing: true }, "Fail"],
    ["is not there, as its image tells", { local: "/srv/config", target: "/app.conf", missing: true }, "Fail"],
    ["is there", { local: "/srv/mosquitto.conf", target: "/etc/mosquitto.conf", missing: false }, "Success"],
    ["is a directory of its image", { local: "/srv/data.conf", target: "/data", missing: true }, "Success"],
  ])("fails a dry run too where a file %s", async (_what, { local, target, missing }, status) => {
    await using rig = newRig();
    if (missing) rig.host.missingPaths.add(local);
    rig.deployments.deploy("d1", request(local, target), { dry_run: true });
    expect(await rig.untilEnd("d1")).toMatchObject(
      status === "Success" ? { status } : { status, step: "checking", details: { path: local, target } },
    );
    expect(rig.engine.files.find(local)).toBeUndefined();
  });

  it("is a failure where something is in the way", async () => {
    await using rig = newRig();
    rig.engine.files.add("/srv/link", "link");
    rig.deployments.deploy("d1", request("/srv/link"));
    const end = await rig.untilEnd("d1");
    expect(end).toMatchObject({ status: "Fail", code: "InvalidRequest" });
    expect(end?.message).toContain("/srv/link is in the way");
    expect(rig.engine.files.find("/srv/link")?.kind).toBe("link");
  });

  it("stays if the deployment fails later, which names it", async () => {
    await using rig = newRig();
    rig.engine.addImage("example/crasher:1", { behaviour: { exit: { code: 1, afterMs: 10 } } });
    rig.deployments.deploy("d1", { ...request("/srv/data"), image: "example/crasher:1" });
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      code: "CrashLoopBackOff",
      details: { made_directories: ["/srv/data"] },
    });
    expect(rig.engine.files.find("/srv/data")).toBeDefined();
  });

  it("is made only once when the agent is killed in between", async () => {
    await using rig = newRig();
    const made = rig.engine.faults.hang("makeDirectory", "after");
    rig.deployments.deploy("d1", request("/srv/data"));
    while (made.waiting === 0) await rig.clock.advance(50);
    await rig.restart();
    made[Symbol.dispose]();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.files.find("/srv/data")?.owner).toEqual(OWNER);
  });

  it("is not made by an update of an app that had it: its disk may not be mounted", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request("/srv/data"));
    await rig.untilEnd("d1");
    rig.engine.files.remove("/srv/data");
    const spec = { environments: [{ key: "A", value: "1" }] };
    rig.deployments.change("d2", { action: "update", app: "app", spec });
    expect(await rig.untilEnd("d2")).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      message: expect.stringContaining("Mount its disk") as string,
    });
    expect(rig.engine.files.find("/srv/data")).toBeUndefined();
    expect(rig.engine.container("app")?.status).toBe("running");
  });
});

describe("an installed app whose directory is gone", () => {
  it("is not started with an empty one, and is when the directory is back", async () => {
    const { rig, reconciler } = await deployedApps(IMAGE, "app");
    await using _rig = rig;
    const app = rig.store.apps()[0]!;
    rig.engine.files.addEmptyDirectory("/mnt");
    const volumes = [{ local: "/mnt/usb", target: "/data", readonly: false }];
    rig.store.save({ app: { ...app, spec: { ...app.spec, volumes } } });
    await rig.engine.removeContainer(app.containerId, signal);
    await reconciler.reconcile(signal);
    expect(rig.engine.files.find("/mnt/usb")).toBeUndefined();
    expect(rig.engine.container("app")).toBeUndefined();
    expect(rig.log.join("")).toContain("/mnt/usb was there when the app was installed");
    rig.engine.files.add("/mnt/usb", "directory");
    await rig.clock.advance(60_000);
    await reconciler.reconcile(signal);
    expect(rig.engine.container("app")?.status).toBe("running");
  });

  it("is started with a new one below /run, which is empty after a reboot", async () => {
    await using rig = newRig();
    rig.engine.files.addEmptyDirectory("/run");
    rig.deployments.deploy("d1", request("/run/app"));
    await rig.untilEnd("d1");
    rig.deployments.change("d2", { action: "stop", app: "app" });
    await rig.untilEnd("d2");
    rig.engine.files.remove("/run/app");
    rig.deployments.change("d3", { action: "start", app: "app" });
    expect(await rig.untilEnd("d3")).toMatchObject({ status: "Success" });
    expect(rig.events("d3").map(({ message }) => message)).toContain(
      "/run/app does not exist on the device: the directory is made, owned by 1000:1000.",
    );
    expect(rig.engine.files.find("/run/app")?.owner).toEqual(OWNER);
  });
});

it("a repair after a reboot makes a directory below /run, and the log says so", async () => {
  await using rig = newRig();
  rig.engine.files.addEmptyDirectory("/run");
  rig.deployments.deploy("d1", request("/run/app"));
  await rig.untilEnd("d1");
  const rebuild = { isSet: false, clear: () => {} };
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
  rig.engine.files.remove("/run/app");
  rig.engine.container("app")?.stop();
  await reconciler.reconcile(signal);
  expect(rig.engine.container("app")?.status).toBe("running");
  expect(rig.engine.files.find("/run/app")?.owner).toEqual(OWNER);
  expect(rig.log.join("")).toContain("/run/app does not exist on the device: the directory is made");
});

describe("a helper container that a crash left behind", () => {
  const helper = {
    image: IMAGE,
    environment: [],
    ports: [],
    volumes: [],
    hostNetwork: false,
    privileged: false,
    restartPolicy: "no",
    logLimit: { maxBytes: 1_000, maxFiles: 1 },
  } as const;
  const labels = { "io.edge-agent.helper": "app", "io.edge-agent.state-dir": "/var/lib/edge-agent" };

  it("is removed, and nobody else's", async () => {
    const { rig, reconciler } = await deployedApps(IMAGE, "app");
    await using _rig = rig;
    const foreign = { ...labels, "io.edge-agent.state-dir": "/var/lib/other-agent" };
    await rig.engine.createContainer({ ...helper, name: "edge-agent-helper-1", labels }, signal);
    await rig.engine.createContainer({ ...helper, name: "edge-agent-helper-2", labels: foreign }, signal);
    await rig.engine.createContainer({ ...helper, name: "by-its-image", labels }, signal);
    await reconciler.reconcile(signal);
    expect(rig.engine.containers.map(({ name }) => name)).toEqual(["app", "edge-agent-helper-2", "by-its-image"]);
  });

  it("is left alone while a deployment works on its app", async () => {
    const { rig, reconciler } = await deployedApps(IMAGE, "app");
    await using _rig = rig;
    await rig.engine.createContainer({ ...helper, name: "edge-agent-helper-1", labels }, signal);
    {
      using _working = rig.deployments.lease("app")!;
      await reconciler.reconcile(signal);
      expect(rig.engine.container("edge-agent-helper-1")).toBeDefined();
    }
    await reconciler.reconcile(signal);
    expect(rig.engine.container("edge-agent-helper-1")).toBeUndefined();
  });
});

it("another error of the engine while a directory is made is the deployment's", async () => {
  await using rig = newRig();
  using _full = rig.engine.faults.fail("makeDirectory", new EngineError("no_space", "no space left on device"));
  rig.deployments.deploy("d1", request("/srv/data"));
  expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "InsufficientDisk" });
  expect(rig.engine.files.find("/srv/data")).toBeUndefined();
});
