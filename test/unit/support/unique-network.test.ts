import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { uniqueNetwork } from "../../support/private-engine/unique-network.ts";
import { tempDir } from "../../support/temp-dir.ts";

const RANGES = 768;

test("engines of tests get different address ranges until none is left", async () => {
  await using home = await tempDir();
  const pools = Array.from({ length: RANGES }, () => uniqueNetwork(home.path).pool);
  expect(new Set(pools).size).toBe(RANGES);
  expect(() => uniqueNetwork(home.path)).toThrow("all 768 address ranges for networks of tests are in use");
});

test("a range that a killed process has left behind is used again", async () => {
  await using home = await tempDir();
  // Larger than any process id.
  for (let range = 0; range < RANGES; range++) await writeFile(join(home.path, `eat-range-${range}`), "4194305");
  expect(() => uniqueNetwork(home.path)).toThrow("in use");
  expect(uniqueNetwork(home.path).pool).toMatch(/^10\.\d+\.\d+\.0\/20$/);
});
