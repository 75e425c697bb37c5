import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { start } from "../../support/command.ts";
import { uniqueNetwork } from "../../support/private-engine/unique-network.ts";

const RANGES = 768;
const TAKE_ALL = `
  const { uniqueNetwork } = await import(process.argv[1]);
  for (let range = 0; range < ${RANGES}; range++) await uniqueNetwork(process.argv[2]);
  console.log("all taken");
  setInterval(() => {}, 1_000);`;

test("engines of tests get different address ranges until none is left", async () => {
  const group = randomUUID();
  const pools: string[] = [];
  for (let range = 0; range < RANGES; range++) pools.push((await uniqueNetwork(group)).pool);
  expect(new Set(pools).size).toBe(RANGES);
  await expect(uniqueNetwork(group)).rejects.toThrow("all 768 address ranges for networks of tests are in use");
});

test("the ranges of a process are free again once it was killed", async () => {
  const group = randomUUID();
  const module = import.meta.resolve("../../support/private-engine/unique-network.ts");
  await using other = start(process.execPath, ["--input-type=module", "--eval", TAKE_ALL, module, group]);
  await other.waitForOutput("all taken");
  await expect(uniqueNetwork(group)).rejects.toThrow("in use");
  other.kill("SIGKILL");
  await other.exited;
  expect((await uniqueNetwork(group)).pool).toMatch(/^10\.\d+\.\d+\.0\/20$/);
});
