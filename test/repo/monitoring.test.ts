import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { GENERATED_SECTIONS } from "../../scripts/docs/generated.ts";
import { run } from "../support/command.ts";
import { dashboardQueries, readDashboard } from "../support/monitoring/dashboard.ts";
import { metricNames, readAlerts, RULES_FILE } from "../support/monitoring/rules.ts";

const TESTS_FILE = "test/fixtures/monitoring/alerts.yaml";

test("promtool accepts the alert rules", async () => {
  const { code, stdout, stderr } = await run("promtool", ["check", "rules", RULES_FILE]);
  expect(stdout + stderr).toContain("SUCCESS");
  expect(code).toBe(0);
});

test("promtool accepts the scrape configuration", async () => {
  const { code, stdout, stderr } = await run("promtool", ["check", "config", "packaging/monitoring/prometheus.yaml"]);
  expect(stdout + stderr).toContain("SUCCESS");
  expect(code).toBe(0);
});

test("each alert is raised by figures that must raise it, and not by others", async () => {
  const { code, stdout, stderr } = await run("promtool", ["test", "rules", TESTS_FILE]);
  expect(stdout + stderr).toContain("SUCCESS");
  expect(code).toBe(0);
  const { tests } = parse(await readFile(TESTS_FILE, "utf8")) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
  };
  const cases = tests.flatMap(({ alert_rule_test: one }) => one);
  for (const { alert } of await readAlerts()) {
    const outcomes = cases.filter(({ alertname }) => alertname === alert).map(({ exp_alerts: { length } }) => length);
    expect(outcomes, alert).toEqual(expect.arrayContaining([0, 1]));
  }
});

test("docs/service-monitoring.md explains each alert", async () => {
  const page = await readFile("docs/service-monitoring.md", "utf8");
  const explained = [...page.matchAll(/^\| `(EdgeControl\w+)`/gm)].map(([, alert]) => alert);
  // In the order of the rules.
  expect(explained).toEqual((await readAlerts()).map(({ alert }) => alert));
});

test("alert rules and dashboard use metrics that exist, and the dashboard any data source", async () => {
  const table = (await GENERATED_SECTIONS.find(({ name }) => name === "metrics")?.generate()) ?? "";
  const known = new Set(
    [...table.matchAll(/^\| `(\w+)` \| (\w+)/gm)].flatMap(([, name = "", type]) => seriesOf(name, type)),
  );
  const dashboard = await readDashboard();
  const queries = [...dashboardQueries(dashboard), ...(await readAlerts()).map(({ expr }) => expr)];
  expect(queries.length).toBeGreaterThan(40);
  for (const query of queries) for (const name of metricNames(query)) expect(known).toContain(name);
  for (const { datasource } of dashboard.panels.flatMap(({ targets = [] }) => targets)) {
    expect(datasource).toEqual({ type: "prometheus", uid: "${datasource}" });
  }
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

function seriesOf(name: string, type: string | undefined): string[] {
  return type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => name + suffix) : [name];
}
