import { expect, onTestFinished, test } from "vitest";
import { responseSchemas } from "../../src/agent/local/api.ts";
import { run } from "../support/command.ts";
import { engineRequest, sleeperImage } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const system = sharedSystem();

function named({ reference }: { readonly reference: string }): string {
  return reference;
}

async function cleanup(...flags: string[]) {
  const args = ["cleanup", "--json", "--config", system().agent.configFile, ...flags];
  const { code, stdout, stderr } = await run("dist/edge-agent", args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { removed, kept } = responseSchemas.cleanup.parse(JSON.parse(stdout));
  return { removed: removed.map(named), kept: kept.map(named), why: kept.map(({ why }) => why).join() };
}

async function isThere(reference: string): Promise<boolean> {
  const path = `/images/${reference.split("/").map(encodeURIComponent).join("/")}/json`;
  return (await engineRequest(system().engineSocket, "GET", path)).status === 200;
}

/** Waits for the final event's acknowledgement: before that, images needed for a rollback stay. */
async function deployed(name: string, image: string): Promise<void> {
  const { final, deploymentId } = await system().deploy({ name, image });
  expect(final.status).toBe("Success");
  await waitFor("the acknowledgement", async () => {
    const { stdout } = await run("dist/edge-agent", ["status", "--json", "--config", system().agent.configFile]);
    return !stdout.includes(deploymentId);
  });
}

async function remove(name: string): Promise<void> {
  const args = ["remove", name, "--config", system().agent.configFile];
  expect(await run("dist/edge-agent", args)).toMatchObject({ code: 0 });
}

test("an image is removed only after its app, and only while its registry is reachable", async () => {
  const registry = await Registry.start();
  let isUp = true;
  onTestFinished(async () => {
    if (isUp) await registry[Symbol.asyncDispose]();
  });
  const [first, second] = [
    system().removeImageLater(await registry.push(await sleeperImage("cleanup 1"), "team/first:1")),
    system().removeImageLater(await registry.push(await sleeperImage("cleanup 2"), "team/second:1")),
  ];
  const own = await system().load(await sleeperImage("cleanup own"), "own");
  const names = [system().name(), system().name(), system().name()] as const;
  await deployed(names[0], first);
  await deployed(names[1], second);
  await deployed(names[2], own);
  expect(await cleanup("--all")).toMatchObject({ removed: [], kept: [] });

  for (const name of [names[0], names[2]]) await remove(name);
  expect(await cleanup()).toMatchObject({ removed: [], kept: [] });
  expect(await cleanup("--all", "--dry-run")).toMatchObject({ removed: [first], kept: [] });
  expect(await isThere(first)).toBe(true);
  expect(await cleanup("--all")).toMatchObject({ removed: [first], kept: [] });
  expect([await isThere(first), await isThere(second), await isThere(own)]).toEqual([false, true, true]);

  await remove(names[1]);
  isUp = false;
  await registry[Symbol.asyncDispose]();
  const { removed, kept, why } = await cleanup("--all");
  expect({ removed, kept }).toEqual({ removed: [], kept: [second] });
  expect(why).toContain("could not be pulled again");
  expect(await isThere(second)).toBe(true);
});
