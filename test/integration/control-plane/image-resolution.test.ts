import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { start, succeed } from "../../support/command.ts";
import { sleeperImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { ScriptedRegistry } from "../../support/registry/scripted-registry.ts";
import { tempDir } from "../../support/temp-dir.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");

let directory: Awaited<ReturnType<typeof tempDir>>;
let registry: Registry;
let image: string;
beforeAll(async () => {
  directory = await tempDir();
  registry = await Registry.start();
  image = await registry.push(await sleeperImage(), "team/ui:4");
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await directory[Symbol.asyncDispose]();
});

let count = 0;
/** Starts the service with these settings, posts a revision, and returns the response. */
async function revise(imageResolution: object, env: Readonly<Record<string, string>> = {}) {
  const dataDir = join(directory.path, `data-${++count}`);
  const config = join(directory.path, `config-${count}.json`);
  await writeFile(
    config,
    JSON.stringify({ data_dir: dataDir, listen: "127.0.0.1:0", image_resolution: imageResolution }),
  );
  await using server = start(process.execPath, [MAIN, "serve", "--config", config], { env });
  await server.waitForOutput('"msg":"listening"');
  const line = server
    .stdout()
    .split("\n")
    .find((text) => text.includes('"msg":"listening"'));
  const { port } = JSON.parse(line ?? "{}") as { readonly port: number };
  const administer = async (...args: string[]) => {
    const output = await succeed(process.execPath, [MAIN, ...args, "--data-dir", dataDir, "--json"]);
    return JSON.parse(output) as Record<string, string>;
  };
  const { account_id: account = "" } = await administer("account", "create", "Acme");
  const { api_key: key = "" } = await administer("key", "create", "--account", account, "--name", "ops");
  const post = async (path: string, body: unknown) => {
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const url = `http://127.0.0.1:${port}${path}`;
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, body: await response.json() };
  };
  const fleet = await post("/v1/fleets", { name: "kiosks", selector: "role=kiosk", apps: ["ui"] });
  expect(fleet.status, JSON.stringify(fleet.body)).toBe(201);
  return await post("/v1/fleets/kiosks/revisions", { apps: [{ app: { name: "ui", image } }] });
}

test("an allowed registry is asked, without the proxies of the environment", async () => {
  await using proxy = await ScriptedRegistry.start((_, response) => response.writeHead(502).end());
  const address = `http://${proxy.host}`;
  const env = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: address, HTTPS_PROXY: address, NO_PROXY: "" };
  const made = await revise({ allow_private: [registry.host] }, env);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  expect(JSON.stringify(made.body)).toContain(`"${image}@${await registry.digest("team/ui:4")}"`);
  expect(proxy.requests).toEqual([]);
});

test.each([
  [{}, "private_address"],
  [{ enabled: false, allow_private: [] }, "no_digest"],
])("with %j it is refused", async (settings, reason) => {
  expect(await revise(settings)).toMatchObject({
    status: 502,
    body: { code: "ImageNotResolved", details: { image, reason } },
  });
});
