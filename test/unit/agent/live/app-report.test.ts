import { expect, test } from "vitest";
import { declaredSecretsOf } from "../../../../src/agent/core/app/secrets.ts";
import { newApp } from "../../../../src/agent/core/records.ts";
import { toAppReport, withSecretsMasked } from "../../../../src/agent/live/app-report.ts";
import { appReportSchema } from "../../../../src/protocol/apps/app-report.ts";
import { parseAppSpec } from "../../../../src/protocol/apps/app-spec.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const app = newApp(parsed.spec, { deploymentId: "d1", imageId: "i1", containerId: "c1", digest: undefined });
const reportOf = (fields: Partial<typeof app>, secrets: readonly string[] = []) => {
  const nothing = { container: undefined, image: undefined, lastDeployment: null };
  return toAppReport({ app: { ...app, ...fields }, ...nothing, secrets }, 0).report;
};

test("an app that is not brought back says why, as long as it does not run and is to run", () => {
  const held = { name: "repair of app", text: "the agent crashed 3 times", leftMs: 1_000 };
  const observed = { image: undefined, lastDeployment: null, secrets: [], held };
  const { report } = toAppReport({ ...observed, app, container: undefined }, 0);
  expect(appReportSchema.parse(report)).toMatchObject({ paused: "the agent crashed 3 times during the repair of app" });
  const stopped = toAppReport({ ...observed, app: { ...app, desired: "stopped" }, container: undefined }, 0);
  expect(stopped.report).not.toHaveProperty("paused");
  expect(reportOf({})).not.toHaveProperty("paused");
});

test("an app's report says of which fleet's revision it is, and nothing of a fleet for another app", () => {
  const report = reportOf({ fleet: { name: "kiosks", revision: 7, deploymentId: "g1", isChanged: true } });
  const fleet = { name: "kiosks", revision: 7, deployment_id: "g1", is_changed: true };
  expect(appReportSchema.parse(report)).toMatchObject({ fleet });
  expect(reportOf({})).not.toHaveProperty("fleet");
});

test("a report shows no secret, wherever it was put", () => {
  const spec = {
    ...parsed.spec,
    environments: [
      { key: "TOKEN", value: "s3cret-token", secret: true },
      { key: "DSN", value: "https://u:s3cret-token@db", secret_parts: ["s3cret-token"] },
    ],
    command: ["serve", "--token=s3cret-token"],
    healthcheck: { command: ["check", "s3cret-token"], interval_s: 10, timeout_s: 5, retries: 2, start_period_s: 60 },
    labels: { "com.example.token": "s3cret-token" },
  };
  const secrets = declaredSecretsOf(spec, () => undefined);
  for (const shown of [reportOf({ spec }, secrets), withSecretsMasked(spec, secrets)])
    expect(JSON.stringify(shown)).not.toContain("s3cret");
  expect(withSecretsMasked({ ...spec, environments: [{ key: "TZ", value: "UTC" }] }, secrets)).toMatchObject({
    command: ["serve", "--token=***"],
    environments: [{ key: "TZ", value: "UTC" }],
  });
});
