import { matchPath } from "react-router";
import { expect, it } from "vitest";
import { apart, groupAlerts } from "../../../src/console/pages/alerts/alert-groups.ts";
import { subjectPath } from "../../../src/console/parts/alert-words.ts";
import type { Alert } from "../../../src/protocol/api-types.ts";
import { ALERT_CONDITION_NAMES, ALERT_CONDITIONS } from "../../../src/protocol/alerts/condition.ts";
import { CONSOLE_PATHS } from "../../../src/protocol/people/console-paths.ts";

function someAlert(id: string, fields: Partial<Alert> = {}): Alert {
  return {
    id,
    condition: "device_offline",
    severity: "critical",
    state: "firing",
    subject: { kind: "asset", id: `asset-${id}`, name: id },
    since: 1000,
    fired_at: 1000,
    resolved_at: null,
    usual_pause_s: null,
    acknowledged_at: null,
    acknowledged_by: null,
    group_ids: [],
    ...fields,
  };
}

const shown = (alerts: readonly Alert[]) =>
  groupAlerts(alerts).map(({ id, alerts: all }) => [id, all.map((each) => each.id)]);

it("alerts are in the groups in which messages tell of them, whatever began when", () => {
  const alerts = [
    someAlert("2", { group_ids: ["grp_a", "grp_z"], since: 9000 }),
    someAlert("1", { group_ids: ["grp_a"] }),
    someAlert("3", { group_ids: ["grp_b"] }),
  ];
  expect(shown(alerts)).toEqual([
    ["grp_a", ["1", "2"]],
    ["grp_b", ["3"]],
  ]);
});

it("without messages, what began within two minutes is a group of its condition and severity", () => {
  const alerts = [
    someAlert("10", { since: 1121 }),
    someAlert("9", { since: 1120 }),
    someAlert("1"),
    someAlert("2", { severity: "warning" }),
    someAlert("3", { condition: "cloned_identity" }),
  ];
  expect(shown(alerts).map(([, ids]) => ids)).toEqual([["1", "9"], ["3"], ["10"], ["2"]]);
});

it("alerts of one asset are no group with those of others, whatever message tells of them", () => {
  const alerts = [someAlert("1", { group_ids: ["grp_a"] }), someAlert("2", { group_ids: ["grp_a"], since: 9000 })];
  expect(shown(apart(alerts)).map(([id]) => id)).toEqual([undefined, undefined]);
});

it("the worst comes first, and of those the newest", () => {
  const alerts = [
    someAlert("info", { severity: "info", fired_at: 3000 }),
    someAlert("old", { condition: "cloned_identity" }),
    someAlert("new", { fired_at: 2000 }),
  ];
  expect(shown(alerts).map(([, ids]) => ids)).toEqual([["new"], ["old"], ["info"]]);
});

it.each(ALERT_CONDITION_NAMES)("%s leads to a page that the console has", (condition) => {
  const { subject: kind } = ALERT_CONDITIONS[condition];
  const path = subjectPath({ condition, subject: { kind, id: "7f8c", name: "kiosks revision 12" } });
  expect(CONSOLE_PATHS.some((each) => matchPath(each, new URL(path, "http://host").pathname))).toBe(true);
  if (kind === "rollout") expect(path).toBe("/fleets/kiosks/rollouts/7f8c");
});
