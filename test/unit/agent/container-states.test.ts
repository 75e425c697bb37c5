import { describe, expect, it } from "vitest";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { findAppContainer } from "../../../src/agent/apps/find-app-container.ts";
import type { FakeContainer } from "../../support/fake-engine/fake-container.ts";
import { deployedApps } from "../../support/reconciler-rig.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

const OLD = "example/app:1";
const NEW = "example/app:2";
const STUCK = 'driver "overlay2" failed to remove root filesystem: unlinkat stuck: operation not permitted';
const signal = new AbortController().signal;

type Apps = Awaited<ReturnType<typeof deployedApps>>;

const seen = ({ rig }: Apps) => rig.engine.containers.map(({ name, status }) => `${name} ${status}`);
const LEFT = expect.stringMatching(/^web\.[0-9a-f]{12}\.edge-agent-left dead$/) as string;

/** An app whose container the engine cannot remove. */
async function unremovable(): Promise<Apps & { readonly free: () => void }> {
  const apps = await deployedApps(OLD, "web");
  apps.rig.engine.addImage(NEW, { layers: [5] });
  const container = apps.rig.engine.container("web")!;
  container.unremovable = STUCK;
  return { ...apps, free: () => void (container.unremovable = undefined) };
}

const change = async (
  { rig }: Apps,
  action: "update" | "restart" | "start" | "stop" | "remove",
  id = `c-${action}`,
) => {
  rig.deployments.change(id, { action, app: "web", ...(action === "update" && { spec: { image: NEW } }) });
  return await rig.untilEnd(id);
};

describe("an old version that cannot be removed", () => {
  it("does not undo the new one: the update succeeds and names it, and it is removed once that is possible", async () => {
    const apps = await unremovable();
    await using rig = apps.rig;
    expect(await change(apps, "update")).toMatchObject({
      status: "Success",
      message: "App web is updated and running.",
      details: { left_behind: [expect.stringMatching(/edge-agent-left$/)] },
    });
    expect(rig.events("c-update").map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^The container engine could not remove the container web\..*operation not permitted/),
    );
    expect(seen(apps)).toEqual([LEFT, "web running"]);
    await apps.reconciler.reconcile(signal);
    expect(rig.troubles.texts).toEqual([expect.stringContaining(STUCK)]);
    // A technician is told what to do about it: `status` and `doctor` do not point at each other.
    expect(rig.troubles.all[0]?.next).toMatch(/fuser.*lsattr.*sudo docker rm --force \S+$/);
    apps.free();
    // Tried again after a pause, whatever happens until then.
    await apps.reconciler.reconcile(signal);
    expect(seen(apps)).toEqual([LEFT, "web running"]);
    await rig.clock.advance(600_000);
    await apps.reconciler.reconcile(signal);
    expect(seen(apps)).toEqual(["web running"]);
    expect(rig.troubles.texts).toEqual([]);
  });

  it.each(["unavailable", "timeout", "unknown"] as const)("nor where the engine fails with %s", async (kind) => {
    const apps = await deployedApps(OLD, "web");
    await using rig = apps.rig;
    rig.engine.addImage(NEW, { layers: [5] });
    using _failure = rig.engine.faults.fail("removeContainer", new EngineError(kind, "no answer"), { times: 99 });
    expect(await change(apps, "update")).toMatchObject({
      status: "Success",
      details: { left_behind: ["web.edge-agent-old"] },
    });
    _failure[Symbol.dispose]();
    await apps.reconciler.reconcile(signal);
    expect(seen(apps)).toEqual(["web running"]);
  });

  it("is tried less and less often, ten minutes at most", async () => {
    const apps = await unremovable();
    await using rig = apps.rig;
    await change(apps, "update");
    let tries = 0;
    rig.engine.faults.onCall(({ method, phase }) => {
      if (method === "removeContainer" && phase === "before") tries++;
    });
    for (let minute = 0; minute < 120; minute++) {
      await apps.reconciler.reconcile(signal);
      await rig.clock.advance(60_000);
    }
    expect(tries).toBeGreaterThan(10);
    expect(tries).toBeLessThan(20);
  });
});

describe.each(["dead", "removing"] as const)("a container that is %s", (status) => {
  it("is replaced by the reconciler, whatever its name and id are on record", async () => {
    const apps = await unremovable();
    await using rig = apps.rig;
    const old = rig.engine.container("web")!;
    old.leave(status);
    await apps.reconciler.reconcile(signal);
    expect(seen(apps)).toEqual([expect.stringContaining("edge-agent-left"), "web running"]);
    expect(rig.store.apps()[0]?.containerId).toBe(rig.engine.container("web")?.id);
    expect(await findAppContainer(rig.store.apps()[0]!, rig.engine, signal)).toMatchObject({ name: "web" });
  });

  it.each(["start", "restart", "update"] as const)("keeps no %s from its success", async (action) => {
    const apps = await unremovable();
    await using rig = apps.rig;
    rig.engine.container("web")!.leave(status);
    expect(await change(apps, action)).toMatchObject({ status: "Success" });
    expect(seen(apps)).toEqual([expect.stringContaining("edge-agent-left"), "web running"]);
  });

  it("counts as removed where its app is removed, and stands in the way of no other of its name", async () => {
    const apps = await unremovable();
    await using rig = apps.rig;
    rig.engine.container("web")!.leave(status);
    expect(await change(apps, "remove")).toMatchObject({ status: "Success" });
    rig.deployments.deploy("again", { name: "web", image: OLD });
    expect(await rig.untilEnd("again")).toMatchObject({ status: "Success", message: "App web is running." });
    expect(seen(apps)).toEqual([LEFT, "web running"]);
  });

  it("is no app to adopt after the store was lost", async () => {
    const apps = await unremovable();
    await using rig = apps.rig;
    await change(apps, "update");
    for (const { id } of rig.store.deployments()) rig.store.acknowledge(id, 100);
    rig.store.save({ removedApp: "web" });
    apps.rebuild.isSet = true;
    await apps.reconciler.reconcile(signal);
    expect(rig.store.apps()).toMatchObject([{ name: "web", deploymentId: "c-update" }]);
  });
});

describe("a failed first version that cannot be removed", () => {
  it("is reported with its failure, and does not run", async () => {
    const apps = await deployedApps(OLD);
    await using rig = apps.rig;
    rig.engine.addImage(NEW, { behaviour: { exit: { code: 3, afterMs: 500 } } });
    rig.engine.faults.onCall(({ method, phase }) => {
      const container = rig.engine.container("web");
      if (method === "startContainer" && phase === "before" && container) container.unremovable = STUCK;
    });
    rig.deployments.deploy("d1", { name: "web", image: NEW });
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "CrashLoopBackOff",
      details: { left_behind: [expect.stringContaining("edge-agent-left")] },
    });
    expect(seen(apps)).toEqual([LEFT]);
  });
});

describe("a paused app", () => {
  it("is left paused by the reconciler, and is replaced by an update", async () => {
    const apps = await deployedApps(OLD, "web");
    await using rig = apps.rig;
    rig.engine.addImage(NEW, { layers: [5] });
    rig.engine.container("web")!.pause();
    await apps.reconciler.reconcile(signal);
    expect(seen(apps)).toEqual(["web paused"]);
    expect(await change(apps, "update")).toMatchObject({ status: "Success" });
    expect(seen(apps)).toEqual(["web running"]);
  });

  it.each([
    ["stop", ["web exited"]],
    ["restart", ["web running"]],
    ["remove", []],
  ] as const)("is changed by %s like one that runs", async (action, left) => {
    const apps = await deployedApps(OLD, "web");
    await using rig = apps.rig;
    rig.engine.container("web")!.pause();
    expect(await change(apps, action)).toMatchObject({ status: "Success" });
    expect(seen(apps)).toEqual(left);
  });
});

/** Has the app end until its pause lasts for most of a minute. */
function crash(container: FakeContainer): void {
  for (let run = 0; run < 10; run++) {
    container.start();
    container.exit(3);
  }
}

/** An app that is in such a pause, and the calls that rename, stop and start from then on. */
async function crashing(): Promise<Apps & { readonly calls: string[] }> {
  const apps = await deployedApps(OLD, "web");
  apps.rig.engine.addImage(NEW, { layers: [5] });
  crash(apps.rig.engine.container("web")!);
  const calls: string[] = [];
  apps.rig.engine.faults.onCall(({ method, phase }) => {
    if (phase === "after" && /^(?:rename|stop|start)C/.test(method)) calls.push(method);
  });
  return { ...apps, calls };
}

describe("an app between two runs of a crash loop", () => {
  it("is replaced by an update, stopped before it is renamed", async () => {
    const apps = await crashing();
    await using rig = apps.rig;
    expect(await change(apps, "update")).toMatchObject({ status: "Success" });
    expect(apps.calls.slice(0, 2)).toEqual(["stopContainer", "renameContainer"]);
    expect(seen(apps)).toEqual(["web running"]);
    expect(rig.store.apps()).toMatchObject([{ deploymentId: "c-update", desired: "running" }]);
  });

  it("is brought back under its name by a rollback, and runs again", async () => {
    const apps = await deployedApps(OLD, "web");
    await using rig = apps.rig;
    rig.engine.addImage(NEW, { layers: [5] });
    const old = rig.engine.container("web")!;
    // It ends by itself, after it was renamed.
    using _end = rig.engine.faults.onCall(({ method, phase }) => {
      if (method !== "stopContainer" || phase !== "before" || old.status !== "running") return;
      crash(old);
      throw new EngineError("unknown", "cannot stop it");
    });
    expect(await change(apps, "update")).toMatchObject({
      status: "Fail",
      message: expect.stringMatching(/cannot stop it\. The previous version runs again\.$/),
      details: { rolled_back: true },
    });
    expect(seen(apps)).toEqual(["web running"]);
    expect(rig.engine.container("web")?.id).toBe(old.id);
  });

  it("gets its name back from the reconciler, and runs again", async () => {
    const apps = await crashing();
    await using rig = apps.rig;
    rig.engine.container("web")!.name = "web.edge-agent-old";
    await whileTimePasses(rig.clock, apps.reconciler.reconcile(signal));
    expect(seen(apps)).toEqual(["web running"]);
    expect(apps.calls).toEqual(["stopContainer", "renameContainer", "startContainer"]);
  });

  it("is renamed while it runs, before anything is stopped, where it runs again by then", async () => {
    const apps = await crashing();
    await using rig = apps.rig;
    rig.engine.container("web")!.start();
    expect(await change(apps, "update")).toMatchObject({ status: "Success" });
    expect(apps.calls.slice(0, 4)).toEqual(["renameContainer", "renameContainer", "stopContainer", "startContainer"]);
  });
});
