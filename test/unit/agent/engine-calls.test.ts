import { describe, expect, it } from "vitest";
import { AgentRig } from "../../support/agent-rig.ts";

const IMAGE = "example/app:1";

/** The calls to the engine until the deployment has ended, in the order in which they began. */
async function callsOf(rig: AgentRig, id: string): Promise<string[]> {
  const calls: string[] = [];
  using _hook = rig.engine.faults.onCall(({ method, phase }) => void (phase === "before" && calls.push(method)));
  expect((await rig.untilEnd(id))?.status).toBe("Success");
  return calls;
}

/** A rig whose verification takes one sample, and whose engine has the image and the network of apps. */
async function rigWithApps(): Promise<AgentRig> {
  const rig = new AgentRig({ settleMs: 0 });
  rig.engine.addImage(IMAGE);
  rig.deployments.deploy("first", { name: "first", image: IMAGE });
  await rig.untilEnd("first");
  return rig;
}

// Each call is time that the app does not run. A call more in these lists needs a reason.
describe("the engine is asked", () => {
  it("seven times for a deployment whose image is present", async () => {
    await using rig = await rigWithApps();
    rig.deployments.deploy("d", { name: "app", image: IMAGE, ports: [{ host_port: 30_080, target_port: 80 }] });
    expect(await callsOf(rig, "d")).toEqual([
      // Side by side. `info` is for the data directory, which the agent remembers.
      "info",
      "listContainers",
      "inspectImage",
      "networks.inspect",
      "createContainer",
      "startContainer",
      "inspectContainer",
    ]);
  });

  it("once what it can do, for an app that depends on it", async () => {
    await using rig = await rigWithApps();
    const app = { name: "app", image: IMAGE, memory_limit: 64_000_000, cpu_limit: 0.5 };
    rig.deployments.deploy("d", app);
    const calls = await callsOf(rig, "d");
    // One of them for the data directory.
    expect(calls.filter((method) => method === "info")).toHaveLength(2);
    expect(calls.slice(4)).toEqual(["networks.inspect", "createContainer", "startContainer", "inspectContainer"]);
  });

  it("everything of the check at the same time", async () => {
    await using rig = await rigWithApps();
    using hung = rig.engine.faults.hang("listContainers");
    const begun: string[] = [];
    using _hook = rig.engine.faults.onCall(({ method, phase }) => void (phase === "before" && begun.push(method)));
    const volumes = [{ name: "data", target: "/data" }];
    rig.deployments.deploy("d", { name: "app", image: IMAGE, memory_limit: 64_000_000, volumes });
    await rig.clock.advance(0);
    expect(hung.waiting).toBe(1);
    expect(begun).toEqual(expect.arrayContaining(["info", "inspectImage", "volumes.find"]));
    hung[Symbol.dispose]();
    expect((await rig.untilEnd("d"))?.status).toBe("Success");
  });
});

describe("the store is written", () => {
  it("three times for a deployment whose app is verified at once, and once more for one that is watched", async () => {
    for (const [settleMs, writes] of [
      [0, 3],
      [3_000, 4],
    ] as const) {
      let saves = 0;
      await using rig = new AgentRig({ settleMs }, (store) => {
        const save = store.save.bind(store);
        store.save = (change) => (saves++, save(change));
        return store;
      });
      rig.engine.addImage(IMAGE);
      rig.deployments.deploy("d", { name: "app", image: IMAGE });
      expect((await rig.untilEnd("d"))?.status).toBe("Success");
      expect([settleMs, saves]).toEqual([settleMs, writes]);
    }
  });

  it("before the next step changes anything, so that a failure is not forgotten by a crash", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(IMAGE, { behaviour: { exit: { code: 7, afterMs: 700 } } });
    const stored: (string | undefined)[] = [];
    using _hook = rig.engine.faults.onCall(({ method, phase }) => {
      if (method === "removeContainer" && phase === "before") stored.push(rig.store.deployment("d")?.failure?.code);
    });
    rig.deployments.deploy("d", { name: "app", image: IMAGE });
    expect((await rig.untilEnd("d"))?.code).toBe("CrashLoopBackOff");
    expect(stored).toEqual(["CrashLoopBackOff"]);
  });

  it("so that a client sees within a second that an app is being started and verified", async () => {
    await using rig = new AgentRig({ settleMs: 900 });
    rig.engine.addImage(IMAGE);
    rig.engine.faults.onCall(async ({ method, phase, signal }) => {
      if (method === "startContainer" && phase === "before") await rig.clock.sleep(500, signal);
    });
    rig.deployments.deploy("d", { name: "app", image: IMAGE });
    await rig.clock.advance(999);
    expect(rig.last("d")?.step).toBe("creating");
    await rig.clock.advance(1);
    expect(rig.events("d").map(({ step }) => step)).toEqual([
      "checking",
      "pulling",
      "creating",
      "starting",
      "verifying",
    ]);
  });
});
