import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { start } from "../../support/command.ts";
import { uniqueNetwork } from "../../support/private-engine/unique-network.ts";

const RANGES = 768;
const NONE = new Set<number>();
const TAKE_ALL = `
  const { uniqueNetwork } = await import(process.argv[1]);
  for (let range = 0; range < ${RANGES}; range++) await uniqueNetwork(process.argv[2], new Set());
  console.log("all taken");
  setInterval(() => {}, 1_000);`;

test("engines of tests get different address ranges until none is left", async () => {
  const group = randomUUID();
  const pools: string[] = [];
  for (let range = 0; range < RANGES; range++) pools.push((await uniqueNetwork(group, NONE)).pool);
  expect(new Set(pools).size).toBe(RANGES);
  await expect(uniqueNetwork(group, NONE)).rejects.toThrow("all 768 address ranges for networks of tests are in use");
});

test("the ranges of a process are free again once it was killed", async () => {
  const group = randomUUID();
  const module = import.meta.resolve("../../support/private-engine/unique-network.ts");
  await using other = start(process.execPath, ["--input-type=module", "--eval", TAKE_ALL, module, group]);
  await other.waitForOutput("all taken");
  await expect(uniqueNetwork(group, NONE)).rejects.toThrow("in use");
  other.kill("SIGKILL");
  await other.exited;
  expect((await uniqueNetwork(group, NONE)).pool).toMatch(/^10\.\d+\.\d+\.0\/20$/);
});

test("a range in which this machine has an address is left out", async () => {
  const used = new Set(Array.from({ length: RANGES }, (_, range) => range));
  used.delete(9);
  const network = await uniqueNetwork(randomUUID(), used);
  expect(network).toMatchObject({ subnet: "10.129.48.0/24", pool: "10.129.32.0/20" });
});
