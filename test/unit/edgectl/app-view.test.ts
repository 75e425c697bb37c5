import { expect, test } from "vitest";
import { diffApp } from "../../../src/edgectl/apply/diff.ts";
import { createTheme } from "../../../src/lib/terminal/theme.ts";
import { renderApp, renderApps } from "../../../src/edgectl/views/app-view.ts";
import { MemoryOutput } from "../../support/edgectl/memory-output.ts";
import { specFields } from "../../../src/edgectl/views/spec-fields.ts";
import { APP_FIELDS, FULL } from "../../support/every-field.ts";

/** Fields that `apps show` shows outside these rows, or not at all yet. */
const ELSEWHERE = new Set(["name", "image", "ports", "healthcheck"]);

test.each(APP_FIELDS.filter((field) => !ELSEWHERE.has(field)))("apps show has a row for %s", (field) => {
  const { [field]: _removed, ...rest } = FULL;
  expect(specFields(FULL)).toHaveLength(specFields(rest).length + 1);
});

test("a volume is shown as the options of the command line write it, with its name and owner", () => {
  const rows = new Map(specFields(FULL));
  expect(rows.get("Volumes")).toBe(
    "/var/lib/full:/data:ro:owner=1000:1000\nfull-cache:/cache:ro:nocopy:shared:subpath=a/b:owner=1000:1000\nexternal:full-storage:/storage:ro:nocopy:subpath=c",
  );
});

const spec = (...volumes: object[]) => ({ name: "app", image: "app:1", volumes });
const diff = (one: object, other: object) => diffApp(spec(one), spec(other), { showValues: false });

test("a changed owner or name of a volume is a difference, and one written differently is not", () => {
  const volume = { name: "data", target: "/data", owner: "1000" };
  expect(diff(volume, { ...volume, target: "/data/", readonly: false })).toEqual([]);
  expect(diff(volume, { ...volume, owner: "1001" })).toMatchObject([{ field: "volumes./data", change: "change" }]);
  expect(diff(volume, { ...volume, name: "other" })).toMatchObject([{ field: "volumes./data", change: "change" }]);
});

test("an app that has ended as it was meant to is shown as finished", () => {
  const theme = createTheme(new MemoryOutput(), { LANG: "en_GB.UTF-8" });
  const reported = { name: "init", image: "init:1", ports: [], state: "stopped", desired_state: "running" };
  const app = { ...reported, last_exit: { code: 0 }, spec: { restart_policy: "no" } };
  expect(renderApps([app], theme, undefined)).toMatch(/^init +finished /m);
  const detail = { ...app, reported_at: 1, reachable: true, age_s: 0 };
  expect(renderApp(detail, theme)).toMatch(/^State +finished$/m);
  expect(renderApp({ ...detail, last_exit: { code: 3 } }, theme)).toMatch(/^State +stopped$/m);
});
