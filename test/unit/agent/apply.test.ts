import { describe, expect, it } from "vitest";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { applyPlanSchema, type ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const image = (app: string, tag = 1): string => `example/${app}:${tag}`;
const entry = (name: string, fields: Record<string, unknown> = {}, dependsOn: readonly string[] = []) => ({
  app: { name, image: image(name), pull: "missing" as const, ...fields },
  depends_on: dependsOn.map((app) => ({ app })),
});
const group = (apps: ApplyRequestInput["apps"], fields: Partial<ApplyRequestInput> = {}): ApplyRequestInput => ({
  project: "line",
  apps,
  ...fields,
});
const port = (host_port: number) => ({ ports: [{ host_port, target_port: 80 }] });

/** A device with three applied apps: db, web and ui. */
async function applied(rig: AgentRig): Promise<void> {
  for (const app of ["db", "web", "ui"]) for (const tag of [1, 2]) rig.engine.addImage(image(app, tag));
  rig.deployments.apply("g1", group([entry("db"), entry("web", {}, ["db"]), entry("ui")]));
  expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
  rig.store.acknowledge("g1", 10_000);
}

const running = (rig: AgentRig) =>
  rig.store.apps().map(({ name, spec }) => [name, spec.image, rig.engine.container(name)?.status]);

function reconcilerOf(rig: AgentRig): AppReconciler {
  const rebuild = { isSet: false, clear: () => {} };
  return new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => rig.deployments.lease(app),
    endedRuns: () => rig.deployments.endedRuns,
  });
}

describe("a group of apps", () => {
  it("is installed in the order of its dependencies, and ends in one verdict", async () => {
    await using rig = new AgentRig();
    for (const app of ["db", "web", "ui"]) rig.engine.addImage(image(app));
    const request = group([entry("ui", {}, ["web"]), entry("web", {}, ["db"]), entry("db")]);
    rig.deployments.apply("g1", request);
    expect(await rig.untilEnd("g1")).toMatchObject({
      status: "Success",
      message: "line is applied: 3 changed.",
      details: { changed: ["db", "web", "ui"], removed: [], unchanged: [] },
    });
    expect(running(rig)).toEqual([
      ["db", image("db"), "running"],
      ["ui", image("ui"), "running"],
      ["web", image("web"), "running"],
    ]);
    const created = rig.events("g1").filter(({ step }) => step === "creating");
    expect(created.map(({ app }) => app)).toEqual(["db", "web", "ui"]);
    expect(rig.events("g1").filter(({ status }) => status !== "Running")).toHaveLength(1);
    expect(rig.deployments.openDeployments()).toEqual(["g1"]);
    rig.store.acknowledge("g1", 10_000);
    expect(rig.store.deployments()).toEqual([]);
  });

  it("looks up no image again whose name stays the same, unless the app says so", async () => {
    await using rig = new AgentRig();
    for (const app of ["db", "web", "ui"]) rig.engine.addImage(image(app));
    const db = { name: "db", image: image("db") };
    const asBefore = group([{ app: db }, entry("web")]);
    rig.deployments.apply("g1", asBefore);
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
    rig.store.acknowledge("g1", 10_000);
    rig.registry.asked.length = 0;
    rig.deployments.apply("g2", asBefore);
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success" });
    rig.store.acknowledge("g2", 10_000);
    expect(rig.registry.asked).toEqual([]);
    rig.deployments.apply("g3", group([{ app: { ...db, pull: "changed" } }, entry("web")]));
    await rig.untilEnd("g3");
    expect(rig.registry.asked).not.toEqual([]);
  });

  it("changes what differs, and does not touch the rest", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    const before = ["db", "web", "ui"].map((app) => rig.engine.container(app)?.id);
    rig.deployments.apply("g2", group([entry("db"), entry("web", { image: image("web", 2) }), entry("ui")]));
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Success",
      details: { changed: ["web"], unchanged: ["db", "ui"] },
    });
    const after = ["db", "web", "ui"].map((app) => rig.engine.container(app)?.id);
    expect(after.map((id, index) => id === before[index])).toEqual([true, false, true]);
    expect(rig.store.apps().find(({ name }) => name === "web")?.spec.image).toBe(image("web", 2));
  });

  it("says that there is nothing to change", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.deployments.apply("g2", group([entry("db"), entry("web"), entry("ui")]));
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Success",
      message: "Nothing to change: the 3 apps of line are as asked for already.",
    });
  });

  it("removes what is missing only with prune, and only of its own project", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.engine.addImage("example/other:1");
    rig.deployments.deploy("d1", { name: "other", image: "example/other:1" });
    await rig.untilEnd("d1");
    rig.deployments.apply("dry", group([entry("db")]), { dry_run: true });
    expect(await rig.untilEnd("dry")).toMatchObject({
      message: expect.stringMatching(/Not in the request, and left as they are: ui, web\.$/),
      details: { not_in_request: ["ui", "web"] },
    });
    rig.deployments.apply("g2", group([entry("db")]));
    await rig.untilEnd("g2");
    expect(rig.store.apps()).toHaveLength(4);
    rig.deployments.apply("g3", group([entry("db")], { prune: true }));
    expect(await rig.untilEnd("g3")).toMatchObject({
      message: "line is applied: 2 removed, 1 unchanged.",
      details: { removed: ["ui", "web"], unchanged: ["db"] },
    });
    expect(rig.store.apps().map(({ name }) => name)).toEqual(["db", "other"]);
  });

  it("lets a new app have the port of one that is removed, and of one that gives it up", async () => {
    await using rig = new AgentRig();
    for (const app of ["a", "b", "c", "d"]) rig.engine.addImage(image(app));
    rig.deployments.apply("g1", group([entry("a", port(30_001)), entry("b", port(30_002))]));
    await rig.untilEnd("g1");
    rig.host.listening.set(30_001, { pid: 1, name: "proxy" });
    rig.host.listening.set(30_002, { pid: 1, name: "proxy" });
    const request = group([entry("c", port(30_001)), entry("d", port(30_002)), entry("b", port(30_003))], {
      prune: true,
    });
    rig.deployments.apply("g2", request);
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success", details: { changed: ["c", "b", "d"] } });
  });

  it("refuses apps whose ports change places, before anything is changed", async () => {
    await using rig = new AgentRig();
    for (const app of ["a", "b"]) rig.engine.addImage(image(app));
    rig.deployments.apply("g1", group([entry("a", port(30_001)), entry("b", port(30_002))]));
    await rig.untilEnd("g1");
    rig.deployments.apply("g2", group([entry("a", port(30_002)), entry("b", port(30_001))]));
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Fail",
      code: "InvalidRequest",
      message: expect.stringMatching(/a, b take over ports.*two steps.*No app was changed/),
    });
  });

  it("takes an app of nobody into the project only if told to, and then without a value it keeps", async () => {
    await using rig = new AgentRig();
    rig.engine.addImage(image("db"));
    const environments = [{ key: "PASSWORD", value: "planted-secret", secret: true }];
    rig.deployments.deploy("d1", { name: "db", image: image("db"), environments });
    await rig.untilEnd("d1");
    const kept = entry("db", { environments: [{ key: "PASSWORD", secret: true }] });
    rig.deployments.apply("g1", group([kept]));
    expect(await rig.untilEnd("g1")).toMatchObject({
      code: "AppExists",
      message: expect.stringMatching(/^The app db is installed and belongs to no project/),
    });
    rig.deployments.apply("g2", group([kept], { adopt: true }));
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success", details: { changed: ["db"] } });
    expect(rig.store.apps()[0]?.spec).toMatchObject({ project: "line", environments });
    rig.deployments.apply("g3", group([kept], { project: "other" }));
    const end = await rig.untilEnd("g3");
    expect(end).toMatchObject({ code: "AppExists", details: { app: "db", project: "line" } });
    // What another project's file describes is not to be taken over.
    expect(end?.message).toContain("Rename it in other");
    expect(end?.message).not.toContain("adopt");
  });

  it("refuses the service `c` of `a.b` where `b.c` of `a` is installed, which has its name", async () => {
    await using rig = new AgentRig();
    const name = "a.b.c";
    rig.engine.addImage(image(name));
    rig.deployments.apply("g1", group([entry(name)], { project: "a" }));
    expect(await rig.untilEnd("g1")).toMatchObject({ status: "Success" });
    rig.deployments.apply("g2", group([entry(name)], { project: "a.b" }));
    const refusal = { code: "AppExists", details: { app: name, project: "a" } };
    expect(await rig.untilEnd("g2")).toMatchObject(refusal);
    expect(rig.store.apps()).toMatchObject([{ name, spec: { project: "a" } }]);
  });

  it("refuses a secret without a value that the device does not have either", async () => {
    await using rig = new AgentRig();
    rig.deployments.apply("g1", group([entry("db", { environments: [{ key: "PASSWORD", secret: true }] })]));
    expect(await rig.untilEnd("g1")).toMatchObject({
      code: "InvalidRequest",
      details: { issues: [{ path: "apps[0].app.environments[0].value" }] },
    });
  });

  it("does not send credentials to a second registry", async () => {
    await using rig = new AgentRig();
    const request = group([entry("a", { image: "one.example.com/a:1" }), entry("b", { image: "two.example.com/b:1" })]);
    rig.deployments.apply("g1", request, { registry_auth: { token: "planted-token" } });
    expect(await rig.untilEnd("g1")).toMatchObject({
      code: "InvalidRequest",
      message: expect.stringMatching(/registry_auth: is for one registry/),
    });
    expect(JSON.stringify(rig.store.deployments())).not.toContain("planted-token");
  });
});

describe("a group in which an app fails", () => {
  it("touches no app if an image cannot be pulled", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.engine.publish(image("web", 3), new EngineError("image_not_found", "no such tag"));
    const before = ["db", "web", "ui"].map((app) => rig.engine.container(app)?.id);
    rig.deployments.apply(
      "g2",
      group([entry("db", { image: image("db", 2) }), entry("web", { image: image("web", 3) })], { prune: true }),
    );
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Fail",
      code: "ImagePullBackOff",
      message: expect.stringMatching(/^App web: .*No app was changed\.$/),
      details: { app: "web" },
    });
    expect(["db", "web", "ui"].map((app) => rig.engine.container(app)?.id)).toEqual(before);
  });

  it("goes back as a whole: updated, new and removed apps are as before", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.engine.addImage(image("new"));
    const before = running(rig);
    rig.engine.addImage(image("web", 2), { behaviour: { exit: { code: 3, afterMs: 100 } } });
    const request = group(
      [entry("db", { image: image("db", 2) }), entry("new"), entry("web", { image: image("web", 2) }, ["db", "new"])],
      { prune: true },
    );
    rig.deployments.apply("g2", request);
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Fail",
      code: "CrashLoopBackOff",
      details: { app: "web", exit_code: 3, restored: ["ui", "db", "new", "web"] },
    });
    expect(running(rig)).toEqual(before);
    expect(rig.engine.container("new")).toBeUndefined();
  });

  it("names an app that cannot be brought back, which the reconciler goes on trying", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    const before = running(rig);
    rig.engine.addImage(image("web", 2), { behaviour: { exit: { code: 3, afterMs: 100 } } });
    let created = 0;
    const broken = rig.engine.faults.onCall(({ method, phase, args }) => {
      if (method !== "createContainer" || phase !== "before") return;
      const { labels } = args[0] as { labels: Readonly<Record<string, string>> };
      // Its second version is created, the first one cannot be any more.
      if (labels[LABELS.app] === "db" && ++created > 1) throw new EngineError("unknown", "cannot mount");
    });
    const apps = [entry("db", { image: image("db", 2) }), entry("web", { image: image("web", 2) }, ["db"])];
    rig.deployments.apply("g2", group(apps));
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Fail",
      message: expect.stringContaining("Could not be brought back, and the agent goes on trying: db."),
      details: { app: "web", restored: ["web"], not_restored: ["db"] },
    });
    expect(rig.engine.container("db")).toBeUndefined();
    broken[Symbol.dispose]();
    await reconcilerOf(rig).reconcile(new AbortController().signal);
    expect(running(rig)).toEqual(before);
  });

  it("keeps what was changed before, if told to", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.engine.addImage(image("web", 2), { behaviour: { exit: { code: 3, afterMs: 100 } } });
    const apps = [entry("db", { image: image("db", 2) }), entry("web", { image: image("web", 2) }, ["db"])];
    apps[1]!.depends_on = [{ app: "db", condition: "healthy" }] as never;
    rig.deployments.apply("g2", group(apps, { on_failure: "keep" }));
    expect(await rig.untilEnd("g2")).toMatchObject({
      status: "Fail",
      message: expect.stringMatching(/Stays changed, as asked for: db\. As before again: web\./),
      details: { changed: ["db"], restored: ["web"] },
    });
    expect(running(rig)).toEqual([
      ["db", image("db", 2), "running"],
      ["ui", image("ui"), "running"],
      ["web", image("web"), "running"],
    ]);
  });

  it("goes back when it is cancelled midway, also with keep, and also after its success", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    const before = running(rig);
    const apps = ["db", "web", "ui"].map((app) => entry(app, { image: image(app, 2) }));
    rig.deployments.apply("g2", group(apps, { on_failure: "keep" }));
    await rig.clock.advance(500);
    rig.deployments.cancel("g2", "requested");
    expect(await rig.untilEnd("g2")).toMatchObject({ code: "DeploymentCancelled" });
    expect(running(rig)).toEqual(before);
    rig.deployments.apply("g3", group(apps));
    expect(await rig.untilEnd("g3")).toMatchObject({ status: "Success" });
    rig.deployments.cancel("g3", "timeout");
    expect(await rig.untilEnd("g3")).toMatchObject({
      code: "DeploymentCancelled",
      details: { restored: ["db", "web", "ui"] },
    });
    expect(running(rig)).toEqual(before);
  });
});

describe("a dry run of a group", () => {
  it("says what would change, and its hash lets through that and nothing else", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.engine.addImage(image("new"));
    const environments = [{ key: "LEVEL", value: "debug" }];
    const apps = [entry("db"), entry("web", { image: image("web", 2), environments }), entry("new")];
    rig.deployments.apply("g2", group(apps, { prune: true }), { dry_run: true });
    const end = await rig.untilEnd("g2");
    expect(end).toMatchObject({
      status: "Success",
      message:
        "Nothing was changed. Applying line would create 1 app, update 1 app, remove 1 app, and download nothing.",
      details: {
        dry_run: true,
        plan: [
          { app: "ui", change: "remove", fields: [] },
          { app: "db", change: "none", fields: [] },
          { app: "web", change: "update", fields: ["image", "environments.LEVEL"] },
          { app: "new", change: "create", fields: [] },
        ],
      },
    });
    expect(rig.store.apps().map(({ name }) => name)).toEqual(["db", "ui", "web"]);
    const expected = applyPlanSchema.parse(end?.details).plan_hash;
    rig.deployments.change("d1", { action: "restart", app: "web" });
    await rig.untilEnd("d1");
    rig.deployments.apply("g3", group(apps, { prune: true, expect: expected }));
    expect(await rig.untilEnd("g3")).toMatchObject({ status: "Fail", code: "PlanChanged" });
    rig.deployments.apply("g4", group(apps, { prune: true }), { dry_run: true });
    const again = String((await rig.untilEnd("g4"))?.details?.["plan_hash"]);
    rig.deployments.apply("g5", group(apps, { prune: true, expect: again }));
    expect(await rig.untilEnd("g5")).toMatchObject({ status: "Success", details: { changed: ["web", "new"] } });
  });
});

describe("beside a group", () => {
  it("no other deployment works on its apps, or takes their ports", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    rig.engine.addImage("example/other:1");
    rig.engine.publish(image("db", 3), { pullMs: 60_000 });
    rig.deployments.apply("g2", group([entry("db", { image: image("db", 3) }), entry("web", port(30_005))]));
    await rig.clock.advance(1_000);
    rig.deployments.change("d1", { action: "stop", app: "web" });
    expect(await rig.untilEnd("d1")).toMatchObject({
      code: "ErrorDeploymentAlreadyExist",
      details: { deployment_id: "g2" },
    });
    rig.deployments.deploy("d2", { name: "other", image: "example/other:1", ...port(30_005) });
    expect(await rig.untilEnd("d2")).toMatchObject({
      code: "ErrorPortInUse",
      details: { holder: { kind: "deployment", name: "web", deployment_id: "g2" } },
    });
    rig.deployments.apply("g3", group([entry("web")]));
    expect(await rig.untilEnd("g3")).toMatchObject({
      code: "ErrorDeploymentAlreadyExist",
      details: { deployment_id: "g2", app: "web" },
    });
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success" });
  });

  it("a restart of the agent in the middle changes nothing about its end", async () => {
    await using rig = new AgentRig();
    await applied(rig);
    const apps = ["db", "web", "ui"].map((app) => entry(app, { image: image(app, 2) }));
    rig.deployments.apply("g2", group(apps));
    await rig.clock.advance(1_000);
    await rig.restart();
    expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success", details: { changed: ["db", "web", "ui"] } });
  });
});
