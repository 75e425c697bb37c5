import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { run, start, succeed } from "../../support/command.ts";
import { EmnifySimulator } from "../../support/sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const SID = `HS${"0f".repeat(16)}`;
const ICCID = "8988307000001234567";

let kore: SuperSimSimulator;
let emnify: EmnifySimulator;
let directory: string;
let config: string;

beforeEach(async () => {
  kore = await SuperSimSimulator.start();
  onTestFinished(() => kore[Symbol.asyncDispose]());
  emnify = await EmnifySimulator.start();
  onTestFinished(() => emnify[Symbol.asyncDispose]());
  const temporary = await tempDir();
  onTestFinished(() => temporary[Symbol.asyncDispose]());
  directory = temporary.path;
  const secret = join(directory, "kore-secret");
  const token = join(directory, "emnify-token");
  await writeFile(secret, `${kore.clientSecret}\n`);
  await writeFile(token, `${emnify.applicationToken}\n`);
  config = await configure({
    supersim: { url: kore.url, token_url: kore.tokenUrl, client_id: kore.clientId, client_secret_file: secret },
    prosim: { url: emnify.url, application_token_file: token },
  });
});

async function configure(sim_operators: object): Promise<string> {
  const file = join(directory, "config.json");
  await writeFile(file, JSON.stringify({ data_dir: join(directory, "data"), listen: "127.0.0.1:0", sim_operators }));
  return file;
}

const check = () => run(process.execPath, [MAIN, "sim-operator", "check", "--config", config]);

test("sim-operator check says what the operators allow, and changes nothing", async () => {
  const { code, stdout } = await check();
  expect(code, stdout).toBe(0);
  const lines = stdout.split("\n");
  expect(lines.filter((line) => /^supersim +the service +read .* yes /.test(line)).length).toBeGreaterThanOrEqual(3);
  expect(lines.filter((line) => /^prosim +the service +read .* yes /.test(line)).length).toBeGreaterThanOrEqual(2);
  expect(kore.count(/POST \/v1/) + emnify.count(/PATCH/)).toBe(0);
});

test("sim-operator check with revoked credentials says so in words, without the secret, and exits with 1", async () => {
  kore.isRevoked = true;
  const { code, stdout, stderr } = await check();
  expect(code).toBe(1);
  expect(stdout).toContain("the credentials are wrong or revoked");
  expect(stderr).toMatch(/^edge-control: /);
  expect(stdout + stderr).not.toContain(kore.clientSecret);
});

test("sim-operator check without operators says what is missing", async () => {
  await configure({});
  const { code, stderr } = await check();
  expect([code, stderr]).toEqual([
    1,
    "edge-control: no SIM operator is configured: set sim_operators in the configuration\n",
  ]);
});

test.each([
  [{ supersim: {} }, "client_id and client_secret_file, or account_sid and auth_token_file"],
  [{ supersim: { client_id: "a", auth_token_file: "/b" } }, "client_id and client_secret_file, or account_sid"],
  [{ prosim: { url: "http://example.com", application_token_file: "/x" } }, "http:// only on this machine"],
  [{ prosim: { application_token_file: "/nowhere/token" } }, "/nowhere/token cannot be read: ENOENT"],
])("the configuration %j is refused with a reason", async (operators, reason) => {
  await configure(operators);
  const { code, stderr } = await check();
  expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
});

test("a process changes SIMs at the operators, says in its log which they are, and keeps the secrets to itself", async () => {
  kore.addFleet("default_1gb");
  kore.addSim({ sid: SID, iccid: ICCID });
  const administer = async (...args: string[]): Promise<Record<string, string>> =>
    JSON.parse(await succeed(process.execPath, [MAIN, ...args, "--config", config, "--json"])) as Record<
      string,
      string
    >;
  await using server = start(process.execPath, [MAIN, "serve", "--config", config]);
  await server.waitForOutput('"msg":"listening"');
  const { account_id: account = "" } = await administer("account", "create", "Acme");
  const { api_key: key = "" } = await administer("key", "create", "--account", account, "--name", "ops");
  const log = () => server.stdout() + server.stderr();
  expect(log()).toContain(`"supersim":"${kore.url}","prosim":"${emnify.url}","msg":"SIM operators"`);
  const port = /"port":(\d+)/.exec(log())?.[1];
  const send = async (method: string, path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${port}/v1/assets${path}`, {
      method,
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const supersim = { sid: SID, iccid: ICCID, network_group: "default_1gb" };
  const registered = await send("POST", "", { serial_number: "GW-1", type: "gateway", supersim });
  expect(registered.status, registered.text).toBe(201);
  const changed = await send("PATCH", "/GW-1", { status: "inactive" });
  expect(changed.status, changed.text).toBe(200);
  expect(kore.sims.get(SID)?.status).toBe("inactive");
  await waitFor("the SIM to be read", () => kore.count(new RegExp(`GET /v1/Sims/${SID}`)) > 0);
  for (const secret of [kore.clientSecret, emnify.applicationToken]) expect(log()).not.toContain(secret);
});
