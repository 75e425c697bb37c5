import { describe, expect, it } from "vitest";
import { volumesOfContainer } from "../../../src/agent/core/app/volume-extras.ts";
import { pathWithoutLinks } from "../../../src/agent/core/policy/resolved-path.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { engineVolumeName, volumeLabels } from "../../../src/agent/engine/volume-names.ts";
import { adoptApps } from "../../../src/agent/steps/adopt-apps.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/node-red:1";
const OWNER = { uid: 1000, gid: 1000 };
const DATA = { kind: "directory", mode: 0o770, owner: OWNER, content: undefined } as const;
const ROOTS = { kind: "directory", mode: 0o700, owner: { uid: 0, gid: 0 }, content: undefined } as const;
const STATE_DIR = "/var/lib/edge-agent";
const signal = new AbortController().signal;

function newRig(...config: ConstructorParameters<typeof AgentRig>): AgentRig {
  const rig = new AgentRig(...config);
  rig.engine.files.addEmptyDirectory("/srv");
  rig.engine.addImage(IMAGE, { user: "1000:1000", files: { "/data": DATA, "/roots": ROOTS } });
  return rig;
}

const ALLOWING = { privileged: true, host_network: true, mounts: { allow: [], deny: [] }, registries: { allow: [] } };
const named = (name: string, target = "/data", more: object = {}) => ({ name, target, ...more });
const request = (...volumes: object[]) => ({ name: "app", image: IMAGE, volumes });
const messages = (rig: AgentRig, id: string) => rig.events(id).map(({ message }) => message);

function reconcilerOf(rig: AgentRig): AppReconciler {
  const rebuild = { isSet: false, clear: () => {} };
  return new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
}

describe("a volume that the agent manages", () => {
  it.each([
    ["/data", {}, OWNER, "Volume flows is made."],
    // As engines do: what the image has there decides.
    ["/roots", {}, { uid: 0, gid: 0 }, "Volume flows is made."],
    ["/none", {}, OWNER, "Volume flows is made, owned by 1000:1000."],
    ["/data", { owner: "5" }, { uid: 5, gid: 0 }, "Volume flows is made, owned by 5:0."],
    ["/none", { owner: "5:6", readonly: true }, { uid: 5, gid: 6 }, "Volume flows is made, owned by 5:6."],
  ])("is made for %s with %j", async (target, more, owner, message) => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(named("flows", target, more)));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.volumes.names).toEqual(["edge-agent.flows"]);
    expect(rig.engine.volumes.look("edge-agent.flows")?.owner).toEqual(owner);
    expect(messages(rig, "d1")).toContain(message);
    expect(rig.engine.container("app")?.request).toMatchObject({
      volumes: [],
      namedVolumes: [{ name: "edge-agent.flows", target, readonly: "readonly" in more }],
    });
  });

  it("keeps its data and its owner over updates, a removal and a new deployment", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(named("flows")));
    await rig.untilEnd("d1");
    rig.engine.volumes.write("edge-agent.flows", 7);
    const spec = { volumes: [named("flows", "/data", { owner: "9:9" })] };
    rig.deployments.change("d2", { action: "update", app: "app", spec });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    rig.deployments.change("d3", { action: "remove", app: "app" });
    expect(await rig.untilEnd("d3")).toMatchObject({
      status: "Success",
      message: "App app is removed. Its data stays in the volume flows, until `edgectl volumes remove` deletes it.",
      details: { kept_volumes: ["flows"] },
    });
    rig.deployments.deploy("d4", request(named("flows")));
    expect(await rig.untilEnd("d4")).toMatchObject({ status: "Success" });
    expect(rig.engine.volumes.look("edge-agent.flows")?.owner).toEqual(OWNER);
    expect(await rig.engine.volumes.measure(signal)).toEqual(new Map([["edge-agent.flows", 7]]));
    expect(messages(rig, "d4").join()).not.toContain("is made");
  });

  it("is not left where another volume is a file that does not exist", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(named("flows"), { local: "/srv/app.conf", target: "/app.conf" }));
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      // The index is that of the request.
      details: { path: "/srv/app.conf", issues: [{ path: "volumes[1].local" }] },
    });
    expect(rig.engine.volumes.names).toEqual([]);
    expect(rig.engine.containers).toEqual([]);
  });

  it("that was there before stays where the deployment fails", async () => {
    await using rig = newRig();
    rig.engine.volumes.add("edge-agent.flows", volumeLabels("flows", STATE_DIR, "d0"));
    rig.deployments.deploy("d1", request(named("flows"), { local: "/srv/app.conf", target: "/app.conf" }));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail" });
    expect(rig.engine.volumes.names).toEqual(["edge-agent.flows"]);
  });

  it("stays if the deployment fails later, which names it: the app may have written to it", async () => {
    await using rig = newRig();
    rig.engine.addImage("example/crasher:1", { behaviour: { exit: { code: 1, afterMs: 10 } } });
    rig.deployments.deploy("d1", { ...request(named("flows"), named("cache", "/cache")), image: "example/crasher:1" });
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      code: "CrashLoopBackOff",
      details: { made_volumes: ["flows", "cache"] },
    });
    expect(rig.engine.volumes.names).toEqual(["edge-agent.flows", "edge-agent.cache"]);
  });

  it.each(["volumes.find", "volumes.create", "createContainer"] as const)(
    "is made once, with its owner, when the agent is killed after %s",
    async (method) => {
      await using rig = newRig();
      const done = rig.engine.faults.hang(method, "after");
      rig.deployments.deploy("d1", request(named("flows", "/data", { owner: "5:6" })));
      while (done.waiting === 0) await rig.clock.advance(50);
      await rig.restart();
      done[Symbol.dispose]();
      expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
      expect(rig.engine.volumes.names).toEqual(["edge-agent.flows"]);
      expect(rig.engine.volumes.look("edge-agent.flows")?.owner).toEqual({ uid: 5, gid: 6 });
    },
  );

  it("keeps its owner when the container of the installed app is created again", async () => {
    await using rig = newRig();
    const reconciler = reconcilerOf(rig);
    rig.deployments.deploy("d1", request(named("flows", "/data", { owner: "5:6" })));
    await rig.untilEnd("d1");
    const calls: string[] = [];
    using _hook = rig.engine.faults.onCall(({ method }) => void calls.push(method));
    await rig.engine.removeContainer("app", signal);
    await reconciler.reconcile(signal);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(calls).not.toContain("volumes.create");
  });

  it("that is gone is made anew, and that is said", async () => {
    await using rig = newRig();
    const reconciler = reconcilerOf(rig);
    rig.deployments.deploy("d1", request(named("flows")));
    await rig.untilEnd("d1");
    await rig.engine.removeContainer("app", signal);
    await rig.engine.volumes.remove("edge-agent.flows", signal);
    await reconciler.reconcile(signal);
    expect(rig.engine.container("app")?.status).toBe("running");
    expect(rig.log.join("\n")).toContain(
      "Volume flows is not on the device any more: it is made anew, without its data.",
    );
  });

  it("has several writers where each of them says so", async () => {
    await using rig = newRig();
    const shared = named("flows", "/data", { shared: true });
    rig.deployments.deploy("d1", request(shared));
    await rig.untilEnd("d1");
    rig.deployments.deploy("d2", { ...request(shared), name: "other" });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    rig.deployments.deploy("d3", { ...request(named("flows")), name: "third" });
    expect(await rig.untilEnd("d3")).toMatchObject({ code: "VolumeInUse" });
    rig.deployments.change("d4", { action: "update", app: "app", spec: { volumes: [named("flows")] } });
    expect(await rig.untilEnd("d4")).toMatchObject({ code: "VolumeInUse", details: { app: "other" } });
  });

  it("begins empty with `nocopy`, with the owner that the image has there", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(named("flows", "/data", { nocopy: true })));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(messages(rig, "d1")).toContain("Volume flows is made, owned by 1000:1000.");
  });

  it("is refused for a second app that writes, and shared with those that read", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(named("flows")));
    await rig.untilEnd("d1");
    rig.deployments.deploy("d2", { ...request(named("flows")), name: "other" });
    expect(await rig.untilEnd("d2")).toMatchObject({
      status: "Fail",
      step: "checking",
      code: "VolumeInUse",
      message:
        "The app app writes to the volume flows: only one app may. Others may have it `readonly`, or all of them `shared`.",
      details: { volume: "flows", app: "app" },
    });
    rig.deployments.deploy("d3", { ...request(named("flows", "/data", { readonly: true })), name: "reader" });
    expect(await rig.untilEnd("d3")).toMatchObject({ status: "Success" });
    // The writer itself may be updated, and a reader may not become a second one.
    rig.deployments.change("d4", { action: "update", app: "app", spec: { environments: [{ key: "A", value: "1" }] } });
    expect(await rig.untilEnd("d4")).toMatchObject({ status: "Success" });
    rig.deployments.change("d5", { action: "update", app: "reader", spec: { volumes: [named("flows")] } });
    expect(await rig.untilEnd("d5")).toMatchObject({ status: "Fail", code: "VolumeInUse" });
  });

  it("is given to one of two apps that are deployed at once", async () => {
    await using rig = newRig();
    rig.deployments.deploy("d1", request(named("flows")));
    rig.deployments.deploy("d2", { ...request(named("flows")), name: "other" });
    const ends = [await rig.untilEnd("d1"), await rig.untilEnd("d2")];
    expect(ends.map((end) => end?.status)).toEqual(["Success", "Fail"]);
    expect(ends[1]).toMatchObject({ code: "VolumeInUse" });
  });

  it("is not one that somebody else made under its name", async () => {
    await using rig = newRig();
    rig.engine.volumes.add("edge-agent.flows", volumeLabels("flows", "/other/agent", "d0"));
    rig.deployments.deploy("d1", request(named("flows")));
    expect(await rig.untilEnd("d1")).toMatchObject({
      status: "Fail",
      step: "checking",
      code: "ErrorNameExists",
      details: { volume: "flows", engine_volume: "edge-agent.flows" },
    });
  });

  it("has a name that no other agent on the engine gives", () => {
    expect(engineVolumeName("flows", STATE_DIR)).toBe("edge-agent.flows");
    const others = ["/srv/a", "/srv/b"].map((stateDir) => engineVolumeName("flows", stateDir));
    expect(others[0]).toMatch(/^edge-agent-[0-9a-f]{8}\.flows$/);
    expect(new Set(others).size).toBe(2);
  });
});

describe("`owner` of a path of the device", () => {
  it("is the owner of the directory that is made, and of no other", async () => {
    await using rig = newRig();
    const owned = { local: "/srv/data", target: "/data", owner: "5:6" };
    rig.deployments.deploy("d1", request(owned, { ...owned, local: "/there", target: "/there" }));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.files.find("/srv/data")).toEqual({ kind: "directory", mode: 0o770, owner: { uid: 5, gid: 6 } });
    expect(messages(rig, "d1")).toContain(
      "/srv/data does not exist on the device: the directory is made, owned by 5:6.",
    );
    expect(rig.engine.files.find("/there")).toBeUndefined();
  });
});

describe("the mount policy", () => {
  const policy = {
    privileged: true,
    host_network: true,
    mounts: { allow: [], deny: ["/etc"] },
    registries: { allow: [] },
  };

  // A path of the device must not take the place, or the `readonly`, of a named volume before it.
  it.each([
    [[named("a"), { local: "/etc", target: "/e" }], "/etc"],
    [[named("a", "/a", { readonly: true }), { local: "/etc/x", target: "/e", readonly: true }], "/etc/x"],
    [[{ local: "/fine", target: "/f" }, named("a"), named("b", "/b"), { local: "/link", target: "/e" }], "/link"],
  ])("judges every path behind named volumes: %j", async (volumes, path) => {
    await using rig = newRig({ policy });
    rig.host.resolvedPaths.set("/link", { ...pathWithoutLinks("/link"), real: "/etc", traversed: ["/link"] });
    rig.deployments.deploy("d1", request(...volumes));
    const end = await rig.untilEnd("d1");
    expect(end).toMatchObject({ status: "Fail", code: "PolicyDenied", details: { rule: "policy.mounts.deny" } });
    expect(end?.message).toContain(path);
    expect(rig.engine.volumes.names).toEqual([]);
  });

  it("tells a path for reading from one for writing behind a named volume", async () => {
    const protectedPaths = [{ path: "/var/ca.pem", when: "written" as const }];
    for (const [isFirstReadonly, readonly, status] of [
      [true, false, "Fail"],
      [false, true, "Success"],
    ] as const) {
      await using rig = newRig({ policy, protectedPaths });
      const bind = { local: "/var/ca.pem", target: "/ca.pem", readonly };
      rig.deployments.deploy("d1", request(named("a", "/data", { readonly: isFirstReadonly }), bind));
      expect(await rig.untilEnd("d1")).toMatchObject({ status });
    }
  });

  it("keeps apps out of what another app writes to, behind a named volume", async () => {
    await using rig = newRig({ policy });
    rig.deployments.deploy("d1", request(named("a", "/a", { readonly: true }), { local: "/shared", target: "/s" }));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    const inner = { ...request(named("b"), { local: "/shared/in", target: "/in", readonly: true }), name: "inner" };
    rig.deployments.deploy("d2", inner);
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Fail", code: "PolicyDenied" });
  });

  it("has no say in volumes that the agent manages", async () => {
    await using rig = newRig({ policy: { ...policy, mounts: { allow: ["/srv"], deny: [] } } });
    rig.deployments.deploy("d1", request(named("flows")));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  });
});

describe("an app with a volume that the agent manages, after the store was lost", () => {
  it("is adopted with its volumes in their order", async () => {
    const volumes = [
      { local: "/srv/a/", target: "/a", readonly: false, owner: "7" },
      { name: "flows", target: "/data", readonly: false },
      { local: "/there", target: "/there", readonly: true },
      { external: "storage", target: "/storage", readonly: true, nocopy: true },
    ];
    await using rig = newRig({ policy: { ...ALLOWING, external_volumes: { allow: ["storage"] } } });
    rig.engine.volumes.add("storage");
    rig.deployments.deploy("d1", request(...volumes));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    using lost = openSqliteStore({ path: ":memory:", clock: rig.clock, bootId: "boot" });
    await adoptApps({ ...rig.services, store: lost }, signal);
    expect(lost.apps()[0]?.spec.volumes).toEqual([{ ...volumes[0], local: "/srv/a" }, ...volumes.slice(1)]);
  });

  it("is not adopted if its label does not name what the container mounts: the policy judges the record", async () => {
    const mounted = [{ local: "/etc", target: "/e", readonly: false }];
    const listed = [{ name: "flows", target: "/data", readonly: false }, ...mounted];
    expect(volumesOfContainer(listed, mounted)).toEqual(listed);
    expect(volumesOfContainer(undefined, mounted)).toEqual(mounted);
    for (const label of [
      listed.slice(0, 1),
      [...listed, { local: "/x", target: "/x", readonly: false }],
      "x",
      [null],
    ]) {
      expect(volumesOfContainer(label, mounted)).toBeNull();
    }
    expect(volumesOfContainer([{ ...mounted[0], readonly: true }], mounted)).toBeNull();
  });
});

describe("an engine that fails", () => {
  it("is asked again for a volume", async () => {
    await using rig = newRig();
    using _fail = rig.engine.faults.fail("volumes.create", new EngineError("timeout", "no answer"), { times: 2 });
    rig.deployments.deploy("d1", request(named("flows")));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  });
});

const external = (name: string, more: object = {}) => ({ external: name, target: "/data", ...more });
const allowed = (): AgentRig => newRig({ policy: { ...ALLOWING, external_volumes: { allow: ["*"] } } });

describe("a volume of the engine that the agent does not make", () => {
  it("is mounted under its own name, filled as engines do, and left when the app is removed", async () => {
    await using rig = allowed();
    rig.engine.volumes.add("storage");
    rig.deployments.deploy("d1", request(external("storage")));
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
    expect(rig.engine.container("app")?.request).toMatchObject({
      namedVolumes: [{ name: "storage", target: "/data", readonly: false, isExternal: true }],
    });
    expect(rig.engine.volumes.look("storage")?.owner).toEqual(OWNER);
    rig.deployments.change("d2", { action: "update", app: "app", spec: { environments: [{ key: "A", value: "1" }] } });
    expect(await rig.untilEnd("d2")).toMatchObject({ status: "Success" });
    rig.deployments.change("d3", { action: "remove", app: "app" });
    expect(await rig.untilEnd("d3")).toMatchObject({ status: "Success", message: "App app is removed." });
    expect(rig.engine.volumes.names).toEqual(["storage"]);
  });

  it.each([
    ["is missing", "none", "InvalidRequest", "On the device: docker volume create none"],
    ["is missing, with one of the agent by that name", "flows", "InvalidRequest", "give it as `name`"],
    ["is this agent's", "edge-agent.flows", "PolicyDenied", "belongs to an edge-agent"],
    ["is another agent's", "edge-agent-1234.flows", "PolicyDenied", "belongs to an edge-agent"],
  ])("is refused by a dry run and a deployment where it %s, and nothing is made", async (_, name, code, message) => {
    await using rig = allowed();
    rig.engine.volumes.add("edge-agent.flows", volumeLabels("flows", STATE_DIR, "d0"));
    rig.engine.volumes.add("edge-agent-1234.flows", volumeLabels("flows", "/elsewhere", "d0"));
    const { names } = rig.engine.volumes;
    for (const id of ["dry", "d1"]) {
      rig.deployments.deploy(id, request(external(name)), id === "dry" ? { dry_run: true } : {});
      const text = expect.stringContaining(message) as string;
      expect(await rig.untilEnd(id)).toMatchObject({ status: "Fail", step: "checking", code, message: text });
    }
    expect(rig.engine.volumes.names).toEqual(names);
  });

  it("that is gone once the image is there is not made by the engine", async () => {
    await using rig = allowed();
    rig.engine.volumes.add("storage");
    rig.engine.publish("example/pulled:1");
    const pulled = rig.engine.faults.hang("pullImage", "after");
    rig.deployments.deploy("d1", { ...request(external("storage")), image: "example/pulled:1" });
    while (pulled.waiting === 0) await rig.clock.advance(50);
    await rig.engine.volumes.remove("storage", signal);
    pulled[Symbol.dispose]();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", step: "creating", code: "InvalidRequest" });
    expect(rig.engine.volumes.names).toEqual([]);
  });

  it("is refused unless the policy allows it", async () => {
    await using rig = newRig();
    rig.engine.volumes.add("storage");
    rig.deployments.deploy("d1", request(external("storage")));
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "PolicyDenied",
      details: { rule: "policy.external_volumes.allow" },
    });
  });
});
