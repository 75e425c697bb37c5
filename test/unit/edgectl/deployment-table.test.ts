import { expect, test } from "vitest";
import { renderDeployment, renderDeployments } from "../../../src/edgectl/views/deployment-table.ts";
import { createTheme } from "../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../support/edgectl/memory-output.ts";

const theme = createTheme(new MemoryOutput(), {});
const row = { deployment_id: "dep_1", app: "web", action: "update", status: "Success", created_at: 1_800_000_000 };

test("a dry run is marked", () => {
  expect(renderDeployments([row], theme, undefined)).not.toContain("dry run");
  expect(renderDeployments([{ ...row, dry_run: true }], theme, undefined)).toContain("update (dry run)");
  expect(renderDeployment({ ...row, dry_run: true }, theme)).toMatch(/Action +update \(dry run\)/);
});

test("those of several assets have a column with the asset", () => {
  const rows = [{ ...row, asset_id: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11" }];
  expect(renderDeployments(rows, theme, undefined)).not.toContain("0b7e5a52");
  expect(renderDeployments(rows, theme, undefined, true)).toMatch(/ASSET[\s\S]*0b7e5a52-6f0c/);
});
