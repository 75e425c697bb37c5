import { expect, test } from "vitest";
import type { Fleet, RevisionDetails } from "../../../../src/edgectl/api/fleets.ts";
import { readFleetFile } from "../../../../src/edgectl/fleets/fleet-file.ts";
import { planFleet } from "../../../../src/edgectl/fleets/plan.ts";

const read = (apps: string) =>
  readFleetFile(`fleet: f\nselector: a\napps:\n${apps}`, {
    fileName: "f.yaml",
    path: undefined,
    env: { T: "planted-secret" },
  });

/** What there is after a file was applied, with the apps as the service returns them. */
function present(apps: string, entries: RevisionDetails["entries"], images: RevisionDetails["apps"]) {
  const { fleet } = read(apps);
  const current: Fleet = {
    ...fleet,
    stable_revision: null,
    states: {},
    last_revision: 1,
    paused_reason: null,
    latest_rollout: null,
    created_at: 1,
    members: 1,
  };
  const by = { kind: "user", id: "u" };
  const newest = { number: 1, comment: null, apps: images, entries, created_at: 1, created_by: by };
  return { fleet: current, newest };
}

const WEB = `  web:
    image: web:1
    environments: [{key: T, secret: true}, {key: LEVEL, value: planted-value}]
    files: [{target: /a.conf, content: planted-content}]
`;
const ENTRY = {
  app: {
    name: "web",
    image: "web@sha256:0",
    environments: [
      { key: "T", secret: true, value: "***" },
      { key: "LEVEL", value: "planted-value" },
    ],
    files: [{ target: "/a.conf", size: 15 }],
  },
  depends_on: [],
};
const IMAGES = [{ name: "web", image: "web@sha256:0", written_image: "web:1" }];

test("what only the service can compare is marked, and nothing else differs", () => {
  const { change, fields, apps } = planFleet(read(WEB), present(WEB, [ENTRY], IMAGES));
  expect({ change, fields }).toEqual({ change: "none", fields: [] });
  expect(apps[0]?.fields.map(({ field, change: kind }) => `${kind} ${field}`)).toEqual([
    "check image",
    "check environments.T",
    "check files./a.conf",
  ]);
});

test("an app with a digest, and without secrets and files, differs in nothing", () => {
  const text = "  db: {image: 'db@sha256:" + "0".repeat(64) + "'}\n";
  const image = `db@sha256:${"0".repeat(64)}`;
  const entry = { app: { name: "db", image, environments: [] }, depends_on: [] };
  const plan = planFleet(read(text), present(text, [entry], [{ name: "db", image, written_image: image }]));
  expect(plan).toMatchObject({ change: "none", asks_for_revision: false, apps: [{ change: "none", fields: [] }] });
});

test("changes are told by field, never with a value of a variable or a file", () => {
  const next = `  web:
    image: web:2
    environments: [{key: T, secret: true}, {key: LEVEL, value: planted-other}]
    files: [{target: /a.conf, content: planted}]
    depends_on: [db]
  db: {image: "db:1"}
`;
  const plan = planFleet(read(next), present(WEB, [ENTRY], IMAGES));
  expect(plan.apps[0]?.fields.map(({ field, change }) => `${change} ${field}`)).toEqual([
    "change image",
    "change environments.LEVEL",
    "check environments.T",
    "change files./a.conf",
    "add depends_on",
  ]);
  expect(plan.apps[1]).toMatchObject({ app: "db", change: "create" });
  expect(JSON.stringify(plan)).not.toContain("planted");
});

test("an app that the file no longer names stays on devices, and that is said", () => {
  const plan = planFleet(read("  db: {image: 'db:1'}\n"), present(WEB, [ENTRY], IMAGES));
  expect(plan.fields).toMatchObject([{ field: "apps", note: "web: stays on devices, and belongs to no fleet" }]);
  expect(plan.apps[1]).toMatchObject({ app: "web", fields: [{ note: "not in the file; stays on devices" }] });
});

test("what the newest revision removes, and the file no longer names, is not said to stay on devices", () => {
  const text = "  db: {image: 'db:1'}\nabsent: [web]\n";
  const db = { app: { name: "db", image: "db@sha256:0" }, depends_on: [] };
  const current = present(
    text,
    [db, { name: "web", absent: true }],
    [{ ...IMAGES[0]!, name: "db", written_image: "db:1" }],
  );
  const plan = planFleet(read("  db: {image: 'db:1'}\n"), current);
  expect(plan.fields).toMatchObject([
    { field: "apps", note: "web: is no longer removed from devices, and belongs to no fleet" },
  ]);
  expect(plan.apps[1]).toMatchObject({
    app: "web",
    change: "update",
    fields: [{ note: "not in the file; is no longer removed from devices" }],
  });
  const both = planFleet(read("  mq: {image: 'mq:1'}\n"), current);
  expect(both.fields[0]?.note).toBe(
    "db: stays on devices, and belongs to no fleet; web: is no longer removed from devices, and belongs to no fleet",
  );
});

test("another version of the agent is a difference, and asks for a revision", () => {
  const text = "  db: {image: 'db@sha256:" + "0".repeat(64) + "'}\n";
  const image = `db@sha256:${"0".repeat(64)}`;
  const entry = { app: { name: "db", image, environments: [] }, depends_on: [] };
  const { fleet, newest } = present(text, [entry], [{ name: "db", image, written_image: image }]);
  const before = { fleet, newest: { ...newest, agent: { version: "1.4.0" } } };
  const file = { ...read(text), agentVersion: "1.5.0" };
  const changed = { field: "version", change: "change", old: "1.4.0", new: "1.5.0" };
  expect(planFleet(file, before)).toMatchObject({ change: "none", agent: [changed], asks_for_revision: true });
  const same = { ...file, agentVersion: "1.4.0" };
  expect(planFleet(same, before)).toMatchObject({ agent: [], asks_for_revision: false });
  const none = { ...file, agentVersion: undefined };
  expect(planFleet(none, before)).toMatchObject({
    agent: [{ change: "remove", old: "1.4.0" }],
    asks_for_revision: true,
  });
});
