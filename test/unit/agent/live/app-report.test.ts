import { expect, test } from "vitest";
import { newApp } from "../../../../src/agent/core/deployment/record.ts";
import { toAppReport } from "../../../../src/agent/live/app-report.ts";
import { appReportSchema } from "../../../../src/protocol/app-report.ts";
import { parseAppSpec } from "../../../../src/protocol/app-spec.ts";

const parsed = parseAppSpec({ name: "app", image: "example/app:1" });
if (!parsed.ok) throw parsed.error;
const app = newApp(parsed.spec, { deploymentId: "d1", imageId: "i1", containerId: "c1", digest: undefined });
const reportOf = (fields: Partial<typeof app>) =>
  toAppReport({ app: { ...app, ...fields }, container: undefined, image: undefined, lastDeployment: null }, 0).report;

test("an app's report says of which fleet's revision it is, and nothing of a fleet for another app", () => {
  const report = reportOf({ fleet: { name: "kiosks", revision: 7, deploymentId: "g1", isChanged: true } });
  const fleet = { name: "kiosks", revision: 7, deployment_id: "g1", is_changed: true };
  expect(appReportSchema.parse(report)).toMatchObject({ fleet });
  expect(reportOf({})).not.toHaveProperty("fleet");
});
