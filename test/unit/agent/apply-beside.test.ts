import { describe, expect, it } from "vitest";
import type { ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { AgentRig } from "../../support/agent-rig.ts";

/*
 * What else may happen to the apps of a group before it has ended: other requests, repairs, apps that share volumes or
 * whose containers would have one name.
 */

const image = (app: string, tag = 1): string => `example/${app}:${tag}`;
const entry = (name: string, fields: Record<string, unknown> = {}, dependsOn: readonly string[] = []) => ({
  app: { name, image: image(name), pull: "missing" as const, ...fields },
  depends_on: dependsOn.map((app) => ({ app, condition: "healthy" as const })),
});
const group = (apps: ApplyRequestInput["apps"], fields: Partial<ApplyRequestInput> = {}): ApplyRequestInput => ({
  project: "line",
  apps,
  ...fields,
});
const port = (host_port: number) => ({ ports: [{ host_port, target_port: 80 }] });
const volume = (name: string) => ({ volumes: [{ name, target: "/data" }] });
const names = (rig: AgentRig): string[] => rig.store.apps().map(({ name }) => name);

/** A device with the apps of a group, whose images have a second version too. */
async function applied(rig: AgentRig, apps: ApplyRequestInput["apps"]): Promise<void> {
  for (const { app } of apps) for (const tag of [1, 2]) rig.engine.addImage(image(app.name, tag));
  rig.deployments.apply("g1", group(apps));
  expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
  rig.store.acknowledge("g1", 10_000);
}

const CRASHES = { behaviour: { exit: { code: 3, afterMs: 1_000 } } };

describe("what a group may still need to go back", () => {
  it("keeps the names and ports of apps it has removed or moved, until it has ended", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("db", port(30_001)), entry("ui", port(30_002)), entry("web")]);
    rig.engine.addImage(image("web", 2), CRASHES);
    rig.engine.addImage("example/other:1");
    const moved = entry("db", port(30_003));
    rig.deployments.apply("g2", group([moved, entry("web", { image: image("web", 2) }, ["db"])], { prune: true }));
    while (rig.store.apps().find(({ name }) => name === "db")?.spec.ports[0]?.host_port !== 30_003)
      await rig.clock.advance(50);
    expect(names(rig)).toEqual(["db", "web"]);
    rig.deployments.deploy("d1", { name: "ui", image: "example/other:1" });
    rig.deployments.deploy("d2", { name: "other", image: "example/other:1", ...port(30_001) });
    rig.deployments.deploy("d3", { name: "another", image: "example/other:1", ...port(30_002) });
    const ends = [await rig.untilEnd("d1"), await rig.untilEnd("d2"), await rig.untilEnd("d3")];
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail", details: { restored: ["ui", "db", "web"] } });
    expect(ends).toMatchObject([
      { code: "ErrorDeploymentAlreadyExist", details: { deployment_id: "g2" } },
      { code: "ErrorPortInUse", details: { holder: { kind: "deployment", name: "db", deployment_id: "g2" } } },
      { code: "ErrorPortInUse", details: { holder: { kind: "deployment", name: "ui", deployment_id: "g2" } } },
    ]);
    expect(rig.store.apps().map(({ name, spec }) => [name, spec.image, spec.ports[0]?.host_port])).toEqual([
      ["db", image("db"), 30_001],
      ["ui", image("ui"), 30_002],
      ["web", image("web"), undefined],
    ]);
  });

  it("keeps repairs away from an app that it has changed, also after a restart of the agent", async () => {
    await using rig = new AgentRig();
    await applied(
      rig,
      ["a", "b", "c", "d", "e", "f"].map((app) => entry(app)),
    );
    const apps = ["a", "b", "c", "d", "e", "f"].map((app) => entry(app, { image: image(app, 2) }));
    rig.deployments.apply("g2", group(apps));
    const touched = () => rig.store.deployments().filter((record) => record.touched && record.outcome === "pending");
    while (touched().length === 0) await rig.clock.advance(10);
    await rig.restart();
    // None of them may be free for a repair before its deployment has ended, whatever it waits for.
    for (let passed = 0; rig.store.deployment("g2")?.outcome === "pending" && passed < 60_000; passed += 10) {
      for (const { app } of touched()) {
        using lease = rig.deployments.lease(app);
        expect(lease, app).toBeUndefined();
      }
      await rig.clock.advance(10);
    }
    expect(rig.store.deployment("g2")?.outcome).toBe("succeeded");
  });
});

describe("volumes by name in a group", () => {
  it("lets a new app have the volume of one that is removed", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("old", volume("data"))]);
    rig.engine.addImage(image("new"));
    rig.deployments.apply("g2", group([entry("new", volume("data"))], { prune: true }));
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Success",
      details: { changed: ["new"], removed: ["old"] },
    });
  });

  it("gives the volume back if the app that took it over fails", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("old", volume("data"))]);
    rig.engine.addImage(image("new"), CRASHES);
    rig.deployments.apply("g2", group([entry("new", volume("data"))], { prune: true }));
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail", code: "CrashLoopBackOff" });
    expect(names(rig)).toEqual(["old"]);
    expect(rig.engine.container("old")?.status).toBe("running");
  });

  it("is kept from other deployments until the group has ended", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("old", volume("data")), entry("web")]);
    rig.engine.addImage(image("web", 2), CRASHES);
    rig.engine.addImage("example/other:1");
    rig.deployments.apply("g2", group([entry("web", { image: image("web", 2) })], { prune: true }));
    while (names(rig).includes("old")) await rig.clock.advance(50);
    rig.deployments.deploy("d1", { name: "other", image: "example/other:1", ...volume("data") });
    expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail", code: "VolumeInUse" });
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail", details: { restored: ["old", "web"] } });
    expect(rig.engine.container("old")?.status).toBe("running");
  });

  it("is taken over only after the app that had it has given it up", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("one", volume("data")), entry("two")]);
    rig.deployments.apply("g2", group([entry("two", volume("data")), entry("one")]));
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success", details: { changed: ["one", "two"] } });
  });

  it("is refused to a new app while the app that has it is not removed, with what to do", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("old", volume("data"))]);
    rig.engine.addImage(image("new"));
    rig.deployments.apply("g2", group([entry("new", volume("data"))]));
    expect(await rig.untilEnd("g2")).toMatchObject({
      code: "VolumeInUse",
      message: expect.stringMatching(/old is of the same project and not in the request: prune removes it first/),
      details: { app: "new", volume: "data", other_app: "old" },
    });
    expect(names(rig)).toEqual(["old"]);
  });
});

describe("an app that others depend on", () => {
  it("fails the group if it never gets healthy, and the others are not begun", async () => {
    await using rig = new AgentRig();
    for (const app of ["db", "web"]) rig.engine.addImage(image(app));
    rig.engine.addImage(image("db"), { behaviour: { health: { becomes: "unhealthy", afterMs: 500 } } });
    const healthcheck = { command: ["false"], interval_s: 1, retries: 1 };
    rig.deployments.apply("g1", group([entry("web", {}, ["db"]), entry("db", { healthcheck })]));
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Fail", code: "Unhealthy", details: { app: "db" } });
    expect(rig.events("g1").filter(({ app, step }) => app === "web" && step === "creating")).toEqual([]);
    expect(rig.engine.containers).toEqual([]);
    expect(names(rig)).toEqual([]);
  });
});

describe("names of containers in a group", () => {
  it("refuses two new apps whose containers would have one name, before anything is changed", async () => {
    await using rig = new AgentRig();
    for (const app of ["a", "a-app", "db"]) rig.engine.addImage(image(app));
    rig.deployments.apply("g1", group([entry("db"), entry("a"), entry("a-app")]));
    expect(await rig.untilEnd("g1")).toMatchObject({
      code: "ErrorNameExists",
      message: expect.stringMatching(/No app was changed/),
    });
    expect(rig.engine.containers).toEqual([]);
  });
});

describe("two groups", () => {
  it("go back one after the other: the first one waits for the second", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("web")]);
    rig.engine.publish(image("web", 3), { pullMs: 5_000 });
    rig.deployments.apply("g2", group([entry("web", { image: image("web", 2) })]));
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success" });
    rig.deployments.apply("g3", group([entry("web", { image: image("web", 3) })]));
    await rig.clock.advance(200);
    rig.deployments.cancel("g2", "timeout");
    expect(await rig.untilEnd("g3")).toMatchObject({ status: "Success" });
    await rig.untilEnd("g2");
    expect(rig.store.apps()[0]?.spec.image).toBe(image("web", 3));
    expect(rig.engine.container("web")?.status).toBe("running");
  });

  it("the first one goes back after the second, also if that goes back too, and neither waits for ever", async () => {
    await using rig = new AgentRig();
    await applied(rig, [entry("web"), entry("ui")]);
    rig.engine.addImage(image("web", 3));
    rig.engine.publish(image("ui", 3), { pullMs: 5_000, behaviour: { exit: { code: 3, afterMs: 1_000 } } });
    rig.deployments.apply("g2", group([entry("web", { image: image("web", 2) }), entry("ui")]));
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success" });
    const apps = [entry("web", { image: image("web", 3) }), entry("ui", { image: image("ui", 3) }, ["web"])];
    rig.deployments.apply("g3", group(apps));
    await rig.clock.advance(1_000);
    rig.deployments.cancel("g2", "timeout");
    expect(await rig.untilEnd("g3")).toMatchObject({ status: "Fail", details: { app: "ui", restored: ["web", "ui"] } });
    expect(await rig.untilEnd("g2")).toMatchObject({ code: "DeploymentCancelled", details: { restored: ["web"] } });
    expect(rig.store.apps().map(({ spec }) => spec.image)).toEqual([image("ui"), image("web")]);
    expect(rig.engine.container("web")?.status).toBe("running");
  });
});

/** Runs a group that updates one app and adds another, loses the store, and reads the apps back from their containers. */
async function lost(rig: AgentRig) {
  await applied(rig, [entry("web")]);
  rig.engine.addImage(image("new"));
  rig.deployments.apply("g2", group([entry("web", { image: image("web", 2) }), entry("new")]));
  expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success" });
  rig.store.acknowledge("g2", 10_000);
  for (const name of names(rig)) rig.store.save({ removedApp: name });
  const rebuild = { isSet: true, clear: () => void (rebuild.isSet = false) };
  return new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
}

describe("a group whose store was lost", () => {
  const signal = new AbortController().signal;

  it("is undone as far as that is known: a new app goes, an updated one stays as it is", async () => {
    await using rig = new AgentRig();
    const reconciler = await lost(rig);
    await reconciler.reconcile(signal);
    expect(names(rig)).toEqual(["new", "web"]);
    const before = rig.engine.container("web")?.id;
    rig.deployments.cancel("g2", "unknown");
    await rig.untilEnd("g2");
    await rig.untilEnd("g2.1").catch(() => undefined);
    await rig.clock.advance(60_000);
    expect(names(rig)).toEqual(["web"]);
    expect(rig.engine.container("web")).toMatchObject({ id: before, status: "running" });
    expect(rig.engine.container("new")).toBeUndefined();
  });
});
