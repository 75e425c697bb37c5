import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { documented, fill, runPrinted } from "../../support/documentation.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { healthImage, sleeperImage, webImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { sharedSystem } from "../../support/system/test-system.ts";
import { waitFor } from "../../support/wait-for.ts";

const REGISTRY = "registry.example.com";
const GATEWAY = "GW-2026-000123";

let registry: Registry;
const system = sharedSystem(async (owned) => {
  registry = owned.use(await Registry.start());
  for (const tag of ["4.1", "4.2"]) await registry.push(await webImage(tag), `team/node-red:${tag}`);
  await registry.push(await healthImage(0), "team/mosquitto:2");
  await registry.push(await sleeperImage("5"), "nodered/node-red:5");
  return {};
});

/** The variables and the alias that the page begins with, for this service. */
const opening = (): string =>
  fill(documented("docs/api.md", "The HTTP API"), {
    "http://127.0.0.1:8080": system().control.url,
    "ek_…": system().account.apiKey,
  });

/** Runs a block on the system's device, with its registry, a free port and a directory of the test's. */
async function onDevice(text: string, replacements: Readonly<Record<string, string>> = {}): Promise<string> {
  const filled = fill(text, { [GATEWAY]: system().asset.serialNumber, ...replacements });
  return await runPrinted(filled.replaceAll(REGISTRY, registry.host), opening());
}

/** How the deployments of an output ended. */
const endings = (output: string): string[] =>
  [...output.matchAll(/"status":"(Success|Fail)"/g)].map(([, status = ""]) => status);

const dataDirectory = (): string => {
  const path = join(system().directory, "node-red");
  mkdirSync(path, { recursive: true });
  return path;
};

test("the README's deployment", async () => {
  const app = system().name("readme");
  const text = fill(documented("README.md", "Deploy an app"), {
    "GW-0001": system().asset.serialNumber,
    '"node-red"': `"${app}"`,
    "nodered/node-red:5": `${registry.host}/nodered/node-red:5`,
    "30080": String(await freeHostPort()),
    "/var/lib/node-red": dataDirectory(),
  });
  expect(endings(await runPrinted(text, opening()))).toEqual(["Success"]);
});

test("assets are registered, listed, accepted and updated", async () => {
  const text = (heading: string): string => documentedOf[heading] ?? "";
  const documentedOf: Readonly<Record<string, string>> = {
    Register: documented("docs/api.md", "Register"),
    Conditional: documented("docs/api.md", "Change what others change too"),
    List: documented("docs/api.md", "List"),
    Acceptance: documented("docs/api.md", "Acceptance"),
    Update: documented("docs/api.md", "Update"),
    Usage: documented("docs/api.md", "SIM usage"),
    Account: documented("docs/api.md", "Whole account"),
    Allowance: documented("docs/sim-plans.md", "Where it comes from"),
    Keys: documented("docs/api.md", "People and keys"),
    Events: documented("docs/api.md", "Events"),
  };
  const outputs: Record<string, string> = {};
  for (const heading of Object.keys(documentedOf)) outputs[heading] = await runPrinted(text(heading), opening());
  expect(outputs["Register"]).toContain('"device_token":"ed_');
  expect(outputs["Conditional"]).toContain('{"role":"kiosk"}');
  expect(outputs["List"]).toContain("Pump house 7");
  expect(outputs["Acceptance"]).toMatch(/"auto_accept":false[^]*"auto_accept":true/);
  expect(outputs["Update"]).toMatch(/"status":"inactive"[^]*"network_group":"default_10gb"/);
  expect(outputs["Usage"]).toContain('"finalized_until"');
  expect(outputs["Account"]).toMatch(/"deployments":\[[^]*"deployments":\[[^]*"sims":\[\{/);
  expect(outputs["Allowance"]).toContain('"source":"manual"');
  expect(outputs["Keys"]).toContain('"api_key":"ek_');
  expect(outputs["Events"]).toContain('"type":"asset.accepted"');
});

test("an app is deployed, updated, restarted, logged and removed, alone and in a project", async () => {
  const changes = documented("docs/api.md", "Deploy, update, remove, stop, start, restart");
  const volume = { "/var/lib/node-red": dataDirectory(), "30080": String(await freeHostPort()) };
  const lines = changes.split("\n");
  expect(lines.at(-1)).toContain("DELETE");
  const removal = lines.at(-1) ?? "";
  expect(endings(await onDevice(lines.slice(0, -1).join("\n"), volume))).toEqual(["Success", "Success", "Success"]);
  const again = documented("docs/api.md", "Deploy, update, remove, stop, start, restart", 2);
  const accepted = await onDevice(again);
  expect(accepted).toContain(" 202");
  const [, path = ""] = /^location: (\S+)/im.exec(accepted) ?? [];
  const { url } = system().control;
  await waitFor("the end of the restart", async () => {
    const response = await fetch(url + path, { headers: { "X-API-Key": system().account.apiKey } });
    return ((await response.json()) as { readonly status: string }).status === "Success";
  });
  const logs = await onDevice(documented("docs/api.md", "Logs"));
  expect(logs).toContain("serving on port");
  expect(endings(await onDevice(removal))).toEqual(["Success"]);
  expect(endings(await onDevice(documented("docs/api.md", "Several apps as one")))).toEqual(["Success"]);
});
