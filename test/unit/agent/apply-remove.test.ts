import { expect, test } from "vitest";
import { applyPlanSchema, type ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const image = (app: string): string => `example/${app}:1`;
const entry = (name: string) => ({ app: { name, image: image(name), pull: "missing" as const } });
const group = (fields: Partial<ApplyRequestInput>): ApplyRequestInput => ({ project: "line", apps: [], ...fields });
const CRASHES = { behaviour: { exit: { code: 1, afterMs: 500 } } };

/** A device with `db` of the project line, `other` of another project, and `alone` of none. */
async function installed(): Promise<AgentRig> {
  const rig = new AgentRig();
  for (const app of ["db", "other", "alone", "new"]) rig.engine.addImage(image(app));
  rig.engine.addImage(image("bad"), CRASHES);
  rig.deployments.apply("g1", group({ apps: [entry("db")] }));
  rig.deployments.apply("g2", { project: "elsewhere", apps: [entry("other")] });
  rig.deployments.deploy("d1", { name: "alone", image: image("alone") });
  for (const id of ["g1", "g2", "d1"]) {
    expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
    rig.store.acknowledge(id, 10_000);
  }
  return rig;
}

const running = (rig: AgentRig) => rig.store.apps().map(({ name }) => [name, rig.engine.container(name)?.status]);

test("a group removes the apps that it names, of any project or of none, and ignores one that is not installed", async () => {
  await using rig = await installed();
  rig.deployments.apply("g3", group({ apps: [entry("new")], remove: ["other", "alone", "unknown"] }));
  expect(await rig.untilEnd("g3")).toMatchObject({
    status: "Success",
    message: "line is applied: 1 changed, 2 removed.",
    details: { changed: ["new"], removed: ["alone", "other"], unchanged: [] },
  });
  expect(running(rig)).toEqual([
    ["db", "running"],
    ["new", "running"],
  ]);
});

test("a group may only remove, and says so if there is nothing to remove any more", async () => {
  await using rig = await installed();
  rig.deployments.apply("g3", group({ remove: ["other"] }));
  expect(await rig.untilEnd("g3")).toMatchObject({ status: "Success", details: { removed: ["other"] } });
  rig.deployments.apply("g4", group({ remove: ["other"] }));
  expect(await rig.untilEnd("g4")).toMatchObject({
    status: "Success",
    message: "Nothing to change: what is to be removed is not installed.",
    details: { removed: [] },
  });
});

test("an app that was removed by name comes back if another one of the group fails, also after a crash", async () => {
  for (const isKilled of [false, true]) {
    await using rig = await installed();
    rig.deployments.apply("g3", group({ apps: [entry("bad")], remove: ["other"] }));
    while (rig.engine.container("other")) await rig.clock.advance(50);
    if (isKilled) await rig.restart();
    expect(await rig.untilEnd("g3")).toMatchObject({
      status: "Fail",
      code: "CrashLoopBackOff",
      details: { app: "bad", restored: ["other"] },
    });
    expect(running(rig)).toEqual([
      ["alone", "running"],
      ["db", "running"],
      ["other", "running"],
    ]);
    expect(rig.store.apps().find(({ name }) => name === "other")?.spec.project).toBe("elsewhere");
  }
});

test("the plan of a dry run has the removals, and its hash lets through no other ones", async () => {
  await using rig = await installed();
  rig.deployments.apply("g3", group({ apps: [entry("db")], remove: ["other"] }), { dry_run: true });
  const end = await rig.untilEnd("g3");
  expect(end?.message).toContain("Applying line would remove 1 app");
  const { plan, plan_hash } = applyPlanSchema.parse(end?.details);
  expect(plan).toMatchObject([
    { app: "other", change: "remove", fields: [] },
    { app: "db", change: "none" },
  ]);
  expect(rig.store.apps()).toHaveLength(3);
  rig.deployments.apply("g4", group({ apps: [entry("db")], remove: ["alone"], expect: plan_hash }));
  expect(await rig.untilEnd("g4")).toMatchObject({ status: "Fail", code: "PlanChanged" });
  rig.deployments.apply("g5", group({ apps: [entry("db")], remove: ["other"], expect: plan_hash }));
  expect(await rig.untilEnd("g5")).toMatchObject({ status: "Success", details: { removed: ["other"] } });
});

test("a group is refused while a deployment works on an app that it removes", async () => {
  await using rig = await installed();
  rig.deployments.change("d2", { action: "restart", app: "other" });
  rig.deployments.apply("g3", group({ remove: ["other"] }));
  expect(await rig.untilEnd("g3")).toMatchObject({
    code: "ErrorDeploymentAlreadyExist",
    details: { deployment_id: "d2", app: "other" },
  });
});
