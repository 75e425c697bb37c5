import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { documented, fill, onTerminal } from "../../support/documentation.ts";
import { sleeperImage, webImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { type RemoteUser, remoteUser } from "../../support/edgectl/remote-user.ts";
import { addSim } from "../../support/system/add-sim.ts";
import { sharedSystem } from "../../support/system/test-system.ts";

const REGISTRY = "registry.example.com";
const NODE_RED = "team/node-red:4.1";

/** Commands that run until they are interrupted, with what they show. */
const ENDLESS: readonly (readonly [RegExp, RegExp])[] = [
  [/^edgectl forward /, /http:\/\/(?:127\.0\.0\.1|localhost):\d+/],
  [/^edgectl apps logs .* --follow/, /serving on port/],
  [/^edgectl apps stats .* --live/, /node-red/],
];

let registry: Registry;
let user: RemoteUser;
/** Where the commands run: it has the files that they name. */
let directory: string;
const system = sharedSystem(async (owned) => {
  registry = owned.use(await Registry.start());
  return { agentConfig: { policy: { remote_access: "exec" } } };
});

beforeAll(async () => {
  directory = join(system().directory, "operator");
  mkdirSync(directory);
  for (const tag of ["4.1", "5.1"]) await registry.push(await webImage(tag), `team/node-red:${tag}`);
  await registry.push(await webImage("5.1"), "nodered/node-red:5.1");
  for (const tag of ["1.1", "1.2"]) await registry.push(await sleeperImage(tag), `team/app:${tag}`);
  const image = `${registry.host}/${NODE_RED}`;
  const app = (name: string, port: number, fields: object = {}): object => ({
    name,
    image,
    environments: [{ key: "PORT", value: String(port) }],
    ...fields,
  });
  const nodeRed = app("node-red", 1880, { volumes: [{ name: "node-red-data", target: "/data" }] });
  const web = app("web", 8080, {
    files: [
      { target: "/etc/nginx/nginx.conf", content: "worker_processes 1;\n" },
      { target: "/var/log/app.log", content: "started\n" },
    ],
  });
  for (const spec of [nodeRed, web, app("postgres", 5432)])
    expect((await system().deploy(spec as never)).final.status).toBe("Success");
  const file = (name: string, content: string): void => writeFileSync(join(directory, name), content);
  file(
    "node-red.json",
    JSON.stringify({
      ...nodeRed,
      environments: [
        { key: "PORT", value: "1880" },
        { key: "TZ", value: "UTC" },
      ],
    }),
  );
  file("compose.yaml", `services:\n  sensor:\n    image: ${image}\n    restart: always\n`);
  file("flows.json", "[]\n");
  const kiosk = { "kiosk-ui": { image: `${registry.host}/team/node-red@${await registry.digest(NODE_RED)}` } };
  file("fleet.yaml", JSON.stringify({ fleet: "kiosks", selector: "role=kiosk", strategy: { soak_s: 0 }, apps: kiosk }));
  await addSim(system(), "GW-SIM");
  user = await remoteUser(system(), ["apps.forward", "apps.exec"]);
});

/** Runs the commands of a block one after the other, each on a terminal. */
async function follow(block: string, replacements: Readonly<Record<string, string>> = {}): Promise<void> {
  const text = fill(block, replacements)
    .replaceAll("GW-0001", system().asset.serialNumber)
    .replaceAll(REGISTRY, registry.host);
  for (const command of text.split("\n")) {
    const [, shows] = ENDLESS.find(([pattern]) => pattern.test(command)) ?? [];
    await onTerminal(command, directory, { EDGECTL_URL: system().control.url, EDGECTL_API_KEY: user.apiKey }, shows);
  }
}

test("the README's list of commands", async () => {
  await follow(documented("docs/edgectl.md", "Examples"), {
    "nodered/node-red:5.1": `${registry.host}/nodered/node-red:5.1`,
    // The device of the test has no SIM.
    "sims show GW-0001": "sims show GW-SIM",
  });
});

test("forward, exec and cp", async () => {
  await follow(documented("docs/remote-access.md", "Use it"));
});

test("indexes of images", async () => {
  const blocks = [
    documented("docs/image-indexes.md", "Write an index"),
    documented("docs/image-indexes.md", "What an update costs"),
  ];
  for (const block of blocks) await follow(block);
});

test("volumes", async () => {
  await system().finish(await system().change("DELETE", "node-red"));
  await follow(documented("docs/apps.md", "Mounts"));
});

/** Writes the file `web.json` with this version of an app. */
function writeApp(tag: string): void {
  const spec = { name: "page", image: `${registry.host}/team/node-red:${tag}` };
  writeFileSync(join(directory, "web.json"), JSON.stringify(spec));
}

test("changes of an app, as edgectl.md shows them", async () => {
  const gateway = { "GW-2026-000123": system().asset.serialNumber };
  for (const tag of ["4.2", "4.3"]) await registry.push(await webImage(tag), `team/node-red:${tag}`);
  writeApp("4.2");
  await follow(documented("docs/edgectl.md", "Deploying", 2), gateway);
  writeApp("4.3");
  await follow(documented("docs/edgectl.md", "Deploying", 1), gateway);
});

test("SIMs, as edgectl.md shows them", async () => {
  for (const block of [documented("docs/edgectl.md", "SIMs", 1), documented("docs/edgectl.md", "SIMs", 2)])
    await follow(block, { "GW-1": "GW-SIM" });
});
