import { expect, test } from "vitest";
import { KeptImages } from "../../../src/agent/store/kept-images.ts";
import type { ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import { AgentRig } from "../../support/agent-rig.ts";

const image = (app: string, tag = 1): string => `example/${app}:${tag}`;
const DIGEST = `registry.example.com/team/app@sha256:${"a".repeat(64)}`;
const OTHER_DIGEST = `registry.example.com/team/app@sha256:${"b".repeat(64)}`;
const entry = (name: string, tag = 1) => ({ app: { name, image: image(name, tag), pull: "missing" as const } });

const revision = (number: number, apps: ApplyRequestInput["apps"], fields: object = {}) => ({
  project: "kiosks",
  apps,
  fleet: { name: "kiosks", revision: number },
  ...fields,
});

/** A device with `db` and `web` of revision 1 of a fleet. */
async function installed(isAcknowledged = true): Promise<AgentRig> {
  const rig = new AgentRig();
  for (const app of ["db", "web"]) for (const tag of [1, 2]) rig.engine.addImage(image(app, tag));
  rig.engine.addImage(image("bad"), { behaviour: { exit: { code: 1, afterMs: 500 } } });
  await applied(rig, "g1", revision(1, [entry("db"), entry("web")], { keep_images: [DIGEST] }), isAcknowledged);
  return rig;
}

async function applied(rig: AgentRig, id: string, request: object, isAcknowledged = true): Promise<void> {
  rig.deployments.apply(id, request);
  expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
  if (isAcknowledged) rig.store.acknowledge(id, 10_000);
}

/** The marks, such as `1 g1` or `1 g1 changed`, by app. */
const marks = (rig: AgentRig) =>
  Object.fromEntries(
    rig.store.apps().map(({ name, fleet }) => {
      const words = fleet && [fleet.revision, fleet.deploymentId, ...(fleet.isChanged ? ["changed"] : [])];
      return [name, words?.join(" ")];
    }),
  );
test("a request made on the device cannot set what belongs to a fleet", async () => {
  await using rig = await installed();
  const request = revision(2, [entry("db", 2)], { keep_images: [OTHER_DIGEST] });
  rig.deployments.apply("g2", request, {}, "local");
  await rig.clock.advance(1_000);
  expect(rig.store.history(1)).toMatchObject([{ id: "g2", events: [{ status: "Fail", code: "InvalidRequest" }] }]);
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
  expect(kept(rig)).toEqual([DIGEST]);
});

const kept = (rig: AgentRig) => new KeptImages(rig.store).references();

test("every app of a fleet's apply is marked with its revision, also one that did not differ", async () => {
  await using rig = await installed();
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
  await applied(rig, "g2", revision(2, [entry("db", 2), entry("web")]));
  expect(marks(rig)).toEqual({ db: "2 g2", web: "2 g2" });
  await rig.restart();
  expect(marks(rig)).toEqual({ db: "2 g2", web: "2 g2" });
});

test("a dry run marks nothing, and changes no list of images", async () => {
  await using rig = await installed();
  rig.deployments.apply("g2", revision(2, [entry("db", 2)], { keep_images: [OTHER_DIGEST] }), { dry_run: true });
  expect(await rig.untilEnd("g2")).toMatchObject({ status: "Success" });
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
  expect(kept(rig)).toEqual([DIGEST]);
});

test("an app that is changed by hand keeps its mark, which says so; one that stays as it was is not changed", async () => {
  await using rig = await installed();
  rig.deployments.change("d1", { action: "update", app: "db", spec: { image: image("db", 2) } });
  rig.deployments.change("d2", { action: "restart", app: "web" });
  for (const id of ["d1", "d2"]) expect(await rig.untilEnd(id)).toMatchObject({ status: "Success" });
  expect(marks(rig)).toEqual({ db: "1 g1 changed", web: "1 g1" });
  // Applied by hand, without a fleet.
  await applied(rig, "g2", { project: "kiosks", apps: [entry("web", 2), entry("db", 2)] });
  expect(marks(rig)).toEqual({ db: "1 g1 changed", web: "1 g1 changed" });
  await applied(rig, "g3", revision(1, [entry("db"), entry("web")]));
  expect(marks(rig)).toEqual({ db: "1 g3", web: "1 g3" });
});

test("an update by hand that fails leaves the mark as it was", async () => {
  await using rig = await installed();
  rig.deployments.change("d1", { action: "update", app: "db", spec: { image: image("bad") } });
  expect(await rig.untilEnd("d1")).toMatchObject({ status: "Fail" });
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
});

test("a fleet's apply that fails leaves every mark as it was, also of the apps that had been changed", async () => {
  await using rig = await installed();
  const bad = { ...entry("bad"), depends_on: [{ app: "db", condition: "healthy" as const }] };
  rig.deployments.apply("g2", revision(2, [entry("db", 2), entry("web"), bad]));
  while (rig.store.apps().find(({ name }) => name === "db")?.spec.image !== image("db", 2)) await rig.clock.advance(50);
  await rig.restart();
  expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail", details: { app: "bad", restored: ["db"] } });
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
});

test("with a success that is undone before it is acknowledged the earlier marks come back", async () => {
  await using rig = await installed();
  await applied(rig, "g2", revision(2, [entry("db", 2), entry("web")]), false);
  expect(marks(rig)).toEqual({ db: "2 g2", web: "2 g2" });
  rig.deployments.cancel("g2", "timeout");
  expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail" });
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
});

test("an app that was removed and comes back has its mark", async () => {
  await using rig = await installed();
  rig.deployments.apply("g2", revision(2, [entry("bad")], { remove: ["db"] }));
  while (rig.engine.container("db")) await rig.clock.advance(50);
  expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail", details: { restored: ["db"] } });
  expect(marks(rig)).toEqual({ db: "1 g1", web: "1 g1" });
});

test("the list of images that a fleet keeps counts from the acceptance on, and its next apply replaces it", async () => {
  await using rig = await installed();
  expect(kept(rig)).toEqual([DIGEST]);
  rig.deployments.apply("g2", revision(2, [entry("bad")], { keep_images: [DIGEST, OTHER_DIGEST] }));
  expect(kept(rig)).toEqual([DIGEST, OTHER_DIGEST]);
  expect(await rig.untilEnd("g2")).toMatchObject({ status: "Fail" });
  rig.store.acknowledge("g2", 10_000);
  expect(kept(rig)).toEqual([DIGEST, OTHER_DIGEST]);
  await applied(rig, "g3", { project: "kiosks", apps: [entry("db")] });
  expect(kept(rig)).toEqual([DIGEST, OTHER_DIGEST]);
  await applied(rig, "g4", revision(2, [entry("db", 2)]));
  expect(kept(rig)).toEqual([]);
});

test("the list of a fleet counts for nothing once all its apps are gone, and does not stop that of another one", async () => {
  await using rig = await installed();
  const other = { project: "other", apps: [entry("web", 2)], adopt: true, fleet: { name: "other", revision: 1 } };
  await applied(rig, "g2", { ...other, keep_images: [OTHER_DIGEST] });
  expect(kept(rig)).toEqual([DIGEST, OTHER_DIGEST]);
  rig.deployments.change("d1", { action: "remove", app: "db" });
  expect(await rig.untilEnd("d1")).toMatchObject({ status: "Success" });
  rig.store.acknowledge("d1", 10_000);
  expect(kept(rig)).toEqual([OTHER_DIGEST]);
});
