import { expect, test } from "vitest";
import { APPS, done, DRY, HASH, planned, REAL, startApply } from "../../support/edgectl/apply-rig.ts";
import { event, json, stream } from "../../support/edgectl/scripted-service.ts";

const REMOVED = planned(
  ["plant.db", "plant.web"].map((app) => ({ app, change: "remove" as const, fields: [] })),
  0,
);

async function setUp() {
  const rig = await startApply();
  const apps = [
    ["plant.web", "plant"],
    ["plant.db", "plant"],
    ["kiosk.web", "kiosk"],
    ["lone", undefined],
  ].map(([name, project]) => ({ name, image: "i:1", state: "running", ports: [], spec: { project } }));
  rig.service.on(`GET ${APPS}`, json(200, { apps, reported_at: 1, reachable: true }));
  const remove = (...args: string[]) => rig.user.run(["apps", "remove", "GW-1", ...args], { env: rig.env });
  return { rig, remove, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
}

test("a project is removed as one deployment: exactly the apps that were shown", async () => {
  await using set = await setUp();
  set.rig.answer(REMOVED, done());
  const { code, stdout, stderr } = await set.remove("--project", "plant", "--yes", "--wait-for-device", "60");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("plant.db: removed; its data stays\nplant.web: removed; its data stays\n");
  expect(set.rig.requests()).toEqual([`GET ${APPS}`, DRY, REAL]);
  const remove = ["plant.web", "plant.db"];
  expect(set.rig.body(0)).toEqual({ project: "plant", apps: [], remove, prune: true, wait_for_device_s: 60 });
  expect(set.rig.body()).toEqual({ ...set.rig.body(0), expect: HASH });
});

test("--dry-run shows the apps and removes none", async () => {
  await using set = await setUp();
  set.rig.answer(REMOVED);
  const { code, stdout } = await set.remove("--project", "plant", "--dry-run");
  expect(code).toBe(0);
  expect(stdout).toMatch(/plant\.web: removed; its data stays\nNothing was changed\.\n$/);
  expect(set.rig.requests()).toEqual([`GET ${APPS}`, DRY]);
});

test("the apps changed meanwhile: they are listed and compared again", async () => {
  await using set = await setUp();
  const changed = { status: "Fail", code: "PlanChanged", message: "The device would make other changes by now." };
  set.rig.answer(REMOVED, stream([event(1, changed)]), REMOVED, done());
  expect((await set.remove("--project", "plant", "--yes")).code).toBe(0);
  expect(set.rig.requests()).toEqual([`GET ${APPS}`, DRY, REAL, `GET ${APPS}`, DRY, REAL]);
});

test("a project without apps is not found, and those that are there are named", async () => {
  await using set = await setUp();
  const { code, stderr } = await set.remove("--project", "plnat", "--yes");
  expect(code).toBe(4);
  expect(stderr).toContain("GW-1 has no app of the project plnat.");
  expect(stderr).toContain("Projects there: kiosk, plant.");
  expect(set.rig.requests()).toEqual([`GET ${APPS}`]);
});

test.each([
  ["without a terminal to ask on", ["--project", "plant"], "--yes"],
  ["neither an app nor a project", [], "Name either one app or a project."],
  ["both", ["plant.web", "--project", "plant", "--yes"], "Name either one app or a project."],
  ["a dry run of one app, which would remove it", ["lone", "--dry-run"], "--dry-run is for --project."],
])("%s is refused, and nothing is sent", async (_what, args, message) => {
  await using set = await setUp();
  const { code, stderr } = await set.remove(...args);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(set.rig.requests()).toEqual([]);
});
