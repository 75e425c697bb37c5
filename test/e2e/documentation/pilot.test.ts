import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { blocksOf, documented, fill, onTerminal } from "../../support/documentation.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { webImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

/*
 * docs/pilot.md, command by command. The gateways of its file are devices that the test plays; the one whose apps are changed is real,
 * under a serial number of its own.
 */

const IMAGE = "registry.example.com/team/kiosk-ui:4.1";

let image: string;
/** With its digest: the service asks no registry of a private address for it. */
let pinned: string;
const system = sharedSystem(async (owned) => {
  const registry = owned.use(await Registry.start());
  await registry.push(await webImage("4.1"), "team/kiosk-ui:4.1");
  image = `${registry.host}/team/kiosk-ui:4.1`;
  pinned = `${registry.host}/team/kiosk-ui@${await registry.digest("team/kiosk-ui:4.1")}`;
  return {};
});

/** The block of the page in this language, for a file of the directory in which the commands run. */
function writeBlock(
  name: string,
  language: string,
  heading: string,
  replacements: Readonly<Record<string, string>> = {},
) {
  const block = blocksOf("docs/pilot.md").find((each) => each.language === language && each.heading === heading);
  writeFileSync(join(system().directory, name), `${fill(block?.text ?? "", replacements)}\n`);
}

/** Runs the commands of a block, each on a terminal, and returns what they show. */
async function follow(block: string): Promise<string[]> {
  const variables = { EDGECTL_URL: system().control.url, EDGECTL_API_KEY: system().account.apiKey };
  const shown: string[] = [];
  for (const command of block.split("\n")) shown.push(await onTerminal(command, system().directory, variables));
  return shown;
}

const onRealDevice = (block: string): string => fill(block, { "GW-0001": system().asset.serialNumber });

beforeAll(() => {
  writeBlock("assets.csv", "csv", "4. Assets");
  writeBlock("compose.yaml", "yaml", "7. An app", { [IMAGE]: image });
});

test("people are invited by links", async () => {
  const invited = await follow(documented("docs/pilot.md", "2. The first admin, and people", 3));
  expect(invited).toEqual([expect.stringContaining("/#/invitation"), expect.stringContaining("/#/invitation")]);
});

test("assets are made with codes; the device that uses one is accepted", async () => {
  const [dry, made] = await follow(documented("docs/pilot.md", "4. Assets"));
  expect(dry).toContain("2 can be created.");
  expect(made).toContain("2 created.");
  const codes = readFileSync(join(system().directory, "codes.csv"), "utf8");
  const [, code = ""] = /^GW-0001,Kiosk Main Street,([^,]+),/m.exec(codes) ?? [];
  const { url } = system().control;
  const response = await fetch(`${url}/v1/enrolments`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code, nonce: "q83vASNFZ4mrze8BI0VniQ" }),
  });
  const { device_token: token = "" } = (await response.json()) as { readonly device_token?: string };
  await using _device = await FakeDevice.connect(`${url.replace("http", "ws")}/v1/agent`, token);
  const [waiting, accepted] = await follow(documented("docs/pilot.md", "6. Acceptance"));
  expect(waiting).toMatch(/GW-0001[^]*GW-0002/);
  expect(accepted).toContain("Accept this device? [y/N]");
  expect(accepted).toContain("The device of GW-0001 is accepted.");
  expect(accepted).not.toContain("The device of GW-0002");
});

test("an app of a compose file is tried on one gateway", async () => {
  const [checked, applied] = await follow(onRealDevice(documented("docs/pilot.md", "7. An app")));
  expect(checked).toContain("The project");
  expect(applied).toMatch(/Ports on the device:[^]*trial\.web/);
  const [listed] = await follow(onRealDevice(documented("docs/pilot.md", "7. An app", 2)));
  expect(listed).toContain("trial");
});

test("a fleet gets an app, wave by wave", async () => {
  const variables = { EDGECTL_URL: system().control.url, EDGECTL_API_KEY: system().account.apiKey };
  await onTerminal(`edgectl assets tag ${system().asset.serialNumber} role=real`, system().directory, variables);
  writeBlock("fleet.yaml", "yaml", "8. A fleet", {
    [IMAGE]: pinned,
    "role=kiosk": "role=real",
    "30080": String(await freeHostPort()),
    "limit: 1 }": "limit: 1, soak_s: 0 }",
    "limit: 20% }": "limit: 20%, soak_s: 0 }",
    "strategy:": "strategy:\n  soak_s: 0",
  });
  const [applied, rolledOut] = await follow(documented("docs/pilot.md", "8. A fleet"));
  expect(applied).toContain("Revision 1 is made.");
  expect(rolledOut).toMatch(/succeeded/);
});
