import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { pathWithoutLinks } from "../../../src/agent/core/policy/resolved-path.ts";
import type { Policy } from "../../../src/agent/core/policy/policy.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";
const signal = new AbortController().signal;
const mounting = (name: string, local: string, more: object = {}) => ({
  name,
  image: IMAGE,
  volumes: [{ local, target: "/data" }],
  ...more,
});
const only = (...allow: string[]): Policy["mounts"] => ({ allow, deny: [] });

type Changeable = { -readonly [K in keyof Policy]: Policy[K] };

/** A rig whose policy can be changed, as between two runs of the agent, and a reconciler that the test runs. */
async function rigWith(policy: Partial<Policy> = {}) {
  const inForce: Changeable = {
    privileged: true,
    host_network: true,
    mounts: { allow: [], deny: [] },
    registries: { allow: [] },
    ...policy,
  };
  const rig = new AgentRig({ policy: inForce });
  rig.engine.addImage(IMAGE);
  const rebuild = { isSet: false, clear: () => void (rebuild.isSet = false) };
  const newReconciler = () =>
    new AppReconciler({
      ...rig.services,
      rebuild,
      lease: (app) => rig.deployments.lease(app),
      endedRuns: () => rig.deployments.endedRuns,
    });
  let reconciler = newReconciler();
  let count = 0;
  const look = async (): Promise<void> => {
    const round = reconciler.reconcile(signal);
    // What is stopped takes its time.
    await rig.clock.advance(15_000);
    await round;
  };
  return {
    rig,
    policy: inForce,
    rebuild,
    /** Runs one round of the reconciler. */
    look,
    /** A look after a restart of the agent. */
    lookAnew: async () => {
      reconciler = newReconciler();
      await look();
    },
    deploy: async (spec: object) => {
      const id = `d${++count}`;
      rig.deployments.deploy(id, spec);
      return await rig.untilEnd(id);
    },
    change: async (request: Parameters<AgentRig["deployments"]["change"]>[1]) => {
      const id = `d${++count}`;
      rig.deployments.change(id, request);
      return await rig.untilEnd(id);
    },
    status: (name: string) => rig.engine.container(name)?.status,
    [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose](),
  };
}

describe("an installed app that the policy in force does not allow", () => {
  it("is stopped at the next look, stays so, and starts by itself when it is allowed again", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a"));
    const before = test.rig.engine.container("app")?.id;
    test.policy.mounts = only("/other");
    await test.lookAnew();
    expect(test.status("app")).toBe("exited");
    await test.look();
    expect(test.status("app")).toBe("exited");
    expect(test.rig.log.filter((line) => line.includes("does not allow an installed app"))).toHaveLength(1);
    expect(test.rig.store.history(10).findLast(({ kind }) => kind === "repair")).toMatchObject({
      app: "app",
      error: "This device does not allow mounting /data/a.",
    });
    test.policy.mounts = only("/data");
    await test.look();
    expect(test.status("app")).toBe("running");
    expect(test.rig.engine.container("app")?.id).toBe(before);
  });

  it.each([
    ["privileged", { privileged: true }, { privileged: false }],
    ["on the host's network", { host_network: true }, { host_network: false }],
    ["with a device", { devices: [{ local: "/dev/x" }] }, { devices: { allow: ["/dev/y"], deny: [] } }],
  ])("is stopped as well where it is %s", async (_, fields, rules) => {
    await using test = await rigWith();
    test.rig.host.devices.add("/dev/x");
    await test.deploy({ name: "app", image: IMAGE, ...fields });
    Object.assign(test.policy, rules);
    await test.lookAnew();
    expect(test.status("app")).toBe("exited");
  });

  it("goes on where only its registry is not allowed any more: its image is on the device", async () => {
    await using test = await rigWith();
    await test.deploy({ name: "app", image: IMAGE });
    test.policy.registries = { allow: ["registry.example.com"] };
    await test.lookAnew();
    expect(test.status("app")).toBe("running");
  });

  it.each(["always", "on-failure"])(
    "with restart policy %s leaves no container that an engine starts when it is restarted",
    async (restart_policy) => {
      await using test = await rigWith();
      await test.deploy(mounting("app", "/data/a", { restart_policy }));
      test.policy.mounts = only("/other");
      await test.lookAnew();
      expect(test.rig.engine.container("app")).toBeUndefined();
      test.policy.mounts = only("/data");
      await test.look();
      expect(test.status("app")).toBe("running");
    },
  );

  it("is stopped also while a deployment is at work on it", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a"));
    using _held = test.rig.deployments.lease("app");
    test.policy.mounts = only("/other");
    await test.lookAnew();
    expect(test.status("app")).toBe("exited");
  });

  it("is not started on request, and what was stopped on purpose stays so", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a"));
    await test.change({ app: "app", action: "stop" });
    test.policy.mounts = only("/other");
    const denied = { status: "Fail", code: "PolicyDenied", details: { rule: "policy.mounts.allow" } };
    expect(await test.change({ app: "app", action: "start" })).toMatchObject(denied);
    expect(await test.change({ app: "app", action: "restart" })).toMatchObject(denied);
    test.policy.mounts = only("/data");
    await test.lookAnew();
    expect(test.status("app")).toBe("exited");
  });

  it("is not what a failed update goes back to, and the failure says so", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a"));
    test.policy.mounts = only("/other");
    using _broken = test.rig.engine.faults.onCall(({ method, phase, args }) => {
      const isNew = test.rig.engine.container(String(args[0]))?.request.labels[LABELS.deployment] === "d2";
      if (method === "startContainer" && phase === "before" && isNew) throw new EngineError("unknown", "broken");
    });
    const end = await test.change({
      app: "app",
      action: "update",
      spec: { volumes: [{ local: "/other/a", target: "/data" }] },
    });
    expect(end).toMatchObject({ status: "Fail", details: { rolled_back: false } });
    expect(end?.message).toContain("does not allow mounting /data/a");
    await test.look();
    expect(test.status("app")).not.toBe("running");
  });

  it("is found again after the store was lost, and stopped: also for what only a label says", async () => {
    await using test = await rigWith({ privileged: false });
    await test.deploy({ name: "app", image: IMAGE });
    const { labels, ...request } = test.rig.engine.container("app")!.request;
    test.rig.store.acknowledge("d1", 100);
    test.rig.store.save({ removedApp: "app" });
    await test.rig.engine.removeContainer("app", signal);
    const planted = { ...labels, [LABELS.extras]: JSON.stringify({ devices: [{ local: "/dev/sda" }] }) };
    await test.rig.engine.createContainer({ ...request, labels: planted }, signal);
    test.rig.engine.container("app")!.start();
    test.rebuild.isSet = true;
    await test.look();
    expect(test.rig.store.apps()).toMatchObject([{ name: "app", spec: { devices: [{ local: "/dev/sda" }] } }]);
    expect(test.status("app")).toBe("exited");
    await test.rig.engine.removeContainer("app", signal);
    await test.look();
    expect(test.rig.engine.container("app")).toBeUndefined();
  });
});

describe("an app that cannot be stopped", () => {
  it("does not stop the reconciler from checking the others", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a"));
    await test.deploy({ name: "plain", image: IMAGE });
    test.policy.mounts = only("/other");
    test.rig.engine.container("plain")?.stop();
    using _failing = test.rig.engine.faults.fail("stopContainer", new EngineError("unknown", "broken"), { times: 1 });
    await test.lookAnew();
    expect([test.status("app"), test.status("plain")]).toEqual(["running", "running"]);
    await test.look();
    expect(test.status("app")).toBe("exited");
  });
});

describe("apps whose directories nest", () => {
  it("of two that were installed before, the one inside is stopped until the other is gone", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("outer", "/data"));
    await test.deploy(mounting("inner", "/data/a"));
    test.policy.mounts = only("/data");
    await test.lookAnew();
    expect([test.status("outer"), test.status("inner")]).toEqual(["running", "exited"]);
    await test.change({ app: "outer", action: "remove" });
    await test.look();
    // Until the control plane knows of the removal it may take it back.
    expect(test.status("inner")).toBe("exited");
    test.rig.store.acknowledge("d3", 100);
    await test.look();
    expect(test.status("inner")).toBe("running");
  });

  it("are not both accepted, whichever comes first", async () => {
    for (const [first, second] of [
      ["/data", "/data/a"],
      ["/data/a", "/data"],
    ] as const) {
      await using test = await rigWith({ mounts: only("/data") });
      test.rig.deployments.deploy("first", mounting("one", first));
      test.rig.deployments.deploy("second", mounting("two", second));
      expect(await test.rig.untilEnd("first")).toMatchObject({ status: "Success" });
      expect(await test.rig.untilEnd("second")).toMatchObject({ code: "PolicyDenied" });
    }
  });

  it("are refused also while the other may be put back as it was", async () => {
    await using test = await rigWith({ mounts: only("/data", "/other") });
    await test.deploy(mounting("outer", "/data"));
    expect(
      await test.change({ app: "outer", action: "update", spec: { volumes: [{ local: "/other", target: "/data" }] } }),
    ).toMatchObject({ status: "Success" });
    // The control plane may still take the update back.
    expect(await test.deploy(mounting("inner", "/data/a"))).toMatchObject({ code: "PolicyDenied" });
    test.rig.store.acknowledge("d2", 100);
    expect(await test.deploy(mounting("inner", "/data/a"))).toMatchObject({ status: "Success" });
  });

  it("may be narrowed by an update, which is judged once the old version is down", async () => {
    await using test = await rigWith({ mounts: only("/data") });
    await test.deploy(mounting("app", "/data"));
    // Until it is stopped the old version may do what it likes in there.
    using _exchanging = test.rig.engine.faults.onCall(({ method, phase }) => {
      if (method !== "stopContainer" || phase !== "before") return;
      test.rig.host.resolvedPaths.set("/data/a", {
        ...pathWithoutLinks("/data/a"),
        real: "/etc",
        traversed: ["/data/a"],
      });
    });
    const end = await test.change({
      app: "app",
      action: "update",
      spec: { volumes: [{ local: "/data/a", target: "/data" }] },
    });
    expect(end).toMatchObject({ status: "Fail", code: "PolicyDenied", details: { rolled_back: true } });
    expect(test.status("app")).toBe("running");
  });
});

describe("the rules for mounts", () => {
  it("restart apps that mount directories once when they change, and no others", async () => {
    await using test = await rigWith({ mounts: only("/data") });
    await test.deploy(mounting("app", "/data/a"));
    await test.deploy({ name: "plain", image: IMAGE });
    const runs = () => ["app", "plain"].map((name) => test.rig.engine.container(name)?.state.startedAt);
    const at = async (): Promise<unknown[]> => {
      await test.rig.clock.advance(1_000);
      await test.lookAnew();
      return runs();
    };
    const before = runs();
    const first = await at();
    expect(first[0]).not.toBe(before[0]);
    expect(first[1]).toBe(before[1]);
    expect(await at()).toEqual(first);
    test.policy.mounts = only("/data", "/more");
    const second = await at();
    expect(second[0]).not.toBe(first[0]);
    expect(await at()).toEqual(second);
    test.policy.mounts = only();
    expect(await at()).toEqual(second);
  });

  it("that restrict nothing ask the machine nothing about apps that run", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a"));
    test.rig.host.resolvePath = () => Promise.reject(new Error("looked at"));
    await test.lookAnew();
    await test.rig.engine.removeContainer("app", signal);
    await test.look();
    expect(test.status("app")).toBe("running");
  });

  it("restart each app once also while another one is busy, and where that cannot be noted", async () => {
    await using test = await rigWith();
    for (const name of ["app", "busy"]) await test.deploy(mounting(name, "/data/a"));
    test.policy.mounts = only("/data");
    const { store } = test.rig.services;
    const learn = store.saveLearnedValue.bind(store);
    store.saveLearnedValue = () => {
      throw new Error("disk full");
    };
    const startedAt = () => test.rig.engine.container("app")?.state.startedAt;
    const before = startedAt();
    const look = async (): Promise<string | undefined> => {
      await test.rig.clock.advance(1_000);
      await test.look();
      return startedAt();
    };
    {
      using _busy = test.rig.deployments.lease("busy");
      const first = await look();
      expect(first).not.toBe(before);
      expect(await look()).toBe(first);
    }
    const after = await look();
    await test.rig.engine.removeContainer("app", signal);
    await look();
    expect(test.status("app")).toBe("running");
    store.saveLearnedValue = learn;
    expect(await look()).not.toBe(after);
    expect(await look()).toBe(startedAt());
  });
});

describe("a path that cannot be examined at the moment", () => {
  it("stops nothing that runs, starts nothing, and what it kept down starts when it can be again", async () => {
    await using test = await rigWith({ mounts: only("/data") });
    await test.deploy(mounting("app", "/data/a"));
    await test.look();
    const { resolvedPaths } = test.rig.host;
    resolvedPaths.set("/data/a", { ...pathWithoutLinks("/data/a"), unresolved: { path: "/data/a", reason: "ESTALE" } });
    const { id } = test.rig.engine.container("app")!;
    await test.lookAnew();
    expect(test.rig.engine.container("app")).toMatchObject({ id, status: "running" });
    await test.rig.engine.removeContainer("app", signal);
    await test.look();
    expect(test.status("app")).not.toBe("running");
    resolvedPaths.delete("/data/a");
    await test.rig.clock.advance(120_000);
    await test.look();
    expect(test.status("app")).toBe("running");
  });

  it("does not hide what is known to be wrong", async () => {
    await using test = await rigWith();
    await test.deploy(mounting("app", "/data/a", { privileged: true }));
    test.policy.mounts = only("/data");
    test.policy.privileged = false;
    test.rig.host.resolvedPaths.set("/data/a", {
      ...pathWithoutLinks("/data/a"),
      unresolved: { path: "/data/a", reason: "EIO" },
    });
    await test.lookAnew();
    expect(test.status("app")).toBe("exited");
  });
});

describe("a job that has ended well", () => {
  it("is not run again after the policy forbade it for a while", async () => {
    await using test = await rigWith();
    test.rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 0, afterMs: 200 } } });
    await test.deploy(mounting("job", "/data/a", { restart_policy: "on-failure" }));
    const { id } = test.rig.engine.container("job")!;
    test.policy.mounts = only("/other");
    await test.lookAnew();
    test.policy.mounts = only();
    await test.lookAnew();
    expect(test.rig.engine.container("job")).toMatchObject({ id, status: "exited" });
  });
});

describe("a deployment that is verified when the policy is tightened", () => {
  it("fails after the restart of the agent", async () => {
    await using test = await rigWith();
    const { rig } = test;
    rig.engine.addImage(IMAGE, { behaviour: { health: { becomes: "healthy", afterMs: 60_000 } } });
    rig.deployments.deploy("d1", mounting("app", "/data/a"));
    await rig.clock.advance(5_000);
    expect(rig.last("d1")).toMatchObject({ status: "Running", step: "verifying" });
    test.policy.mounts = only("/other");
    await rig.restart();
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "PolicyDenied" });
    expect(test.status("app")).toBeUndefined();
  });
});
