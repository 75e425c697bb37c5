import { expect, test } from "vitest";
import { removalsOf } from "../../../../src/agent/live/removals.ts";
import type { DeploymentEntry } from "../../../../src/agent/store/history.ts";
import { MAX_REPORTED_REMOVALS } from "../../../../src/protocol/apps/app-report.ts";

const entry = (app: string, fields: Partial<DeploymentEntry> = {}, at: number | null = 7): DeploymentEntry => ({
  kind: "deployment",
  id: `dep-${app}`,
  app,
  image: "",
  origin: "control_plane",
  action: "remove",
  events: [{ status: "Success", step: "done", message: "Done.", at }],
  ...fields,
});
const NONE = new Set<string>();

test("an app that a command has removed is told, with by whom and when", () => {
  expect(removalsOf([entry("web"), entry("db", { origin: "local" }, null)], NONE)).toEqual([
    { name: "db", by: "local" },
    { name: "web", by: "api", since: 7 },
  ]);
});

test("not one that is there, whose removal failed or was a dry run, or that something happened to since", () => {
  const failed = entry("a", { events: [{ status: "Fail", step: "done", message: "No.", at: 7 }] });
  const dry = entry("b", { dry_run: true });
  expect(removalsOf([failed, dry, entry("c")], new Set(["c"]))).toEqual([]);
  // The fleet has brought it again, and taken it away.
  const group = entry("kiosks", {
    action: "apply",
    events: [{ status: "Success", step: "done", message: "Done.", at: 9, app: "web" }],
  });
  expect(removalsOf([entry("web"), group], NONE)).toEqual([]);
  expect(removalsOf([entry("web"), { kind: "repair", app: "web", at: 8, reason: "gone" }], NONE)).toHaveLength(1);
  expect(removalsOf([entry("web"), entry("web", { action: "deploy" })], NONE)).toEqual([]);
});

test("they are bounded: the newest", () => {
  const many = Array.from({ length: MAX_REPORTED_REMOVALS + 5 }, (_, index) => entry(`app${index}`));
  const told = removalsOf(many, NONE);
  expect(told).toHaveLength(MAX_REPORTED_REMOVALS);
  expect(told[0]?.name).toBe(`app${MAX_REPORTED_REMOVALS + 4}`);
});
