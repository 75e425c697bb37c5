import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";

const SERIAL = "GW-2026-000123";
const ICCID = "8988307000001234567";
const START = 1_767_225_600;
const HOUR = 3600;

interface Rig extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly account: TestAccount;
  readonly user: EdgectlUser;
  /** Relays the connections between edgectl and the service. */
  readonly relay: TcpRelay;
  readonly deviceToken: string;
  /** Runs a command with `--json`, which must succeed, and returns its document. */
  json(...args: string[]): Promise<unknown>;
}

/** A service with one asset, and a user who is logged in. */
async function setUp(): Promise<Rig> {
  await using owner = new AsyncDisposableStack();
  const plane = owner.use(await startControlPlane());
  const relay = owner.use(await TcpRelay.to(plane.server.port));
  const user = owner.use(await edgectlUser());
  const account = await plane.account();
  const { deviceToken } = await plane.asset(account, {
    serialNumber: SERIAL,
    name: "Pump house 7",
    supersim: { sid: "HS0123456789abcdef", iccid: ICCID, networkGroup: "default_1gb", status: "active" },
  });
  const url = `http://127.0.0.1:${relay.port}`;
  const login = await user.run(["login", "--url", url, "--key-file", "-"], { input: account.apiKey });
  expect(login).toMatchObject({ code: 0, stderr: "" });
  const owned = owner.move();
  return {
    plane,
    account,
    user,
    relay,
    deviceToken,
    async json(...args) {
      const { code, stdout, stderr } = await user.run([...args, "--json"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return JSON.parse(stdout) as unknown;
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function lines(stdout: string): { seq: number; status: string; deployment_id: string }[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { seq: number; status: string; deployment_id: string });
}

async function* usageRecords() {
  for (const [hour, bytes] of [
    [0, 1_000_000],
    [1, 500_000],
    [48, 7],
  ] as const) {
    const startTime = START + hour * HOUR;
    yield { iccid: ICCID, bucket: "default_1gb", startTime, endTime: startTime + HOUR, bytes };
  }
}

describe("edgectl against the service: assets", () => {
  test("lists, filters, pages, shows and updates", async () => {
    await using rig = await setUp();
    const asset = { serial_number: SERIAL, name: "Pump house 7", status: "active" };
    await rig.plane.asset(rig.account, { serialNumber: "GW-2", name: "Zeta" });
    expect(await rig.json("assets", "list", "--q", "pump")).toMatchObject({ assets: [asset], next_cursor: null });
    const first = (await rig.json("assets", "list", "--limit", "1")) as { next_cursor: string; assets: unknown[] };
    expect(first.assets).toHaveLength(1);
    const second = await rig.json("assets", "list", "--cursor", first.next_cursor);
    expect(second).toMatchObject({ assets: [{ name: expect.any(String) as string }], next_cursor: null });
    const all = (await rig.json("assets", "list", "--limit", "1", "--all")) as { assets: unknown[] };
    expect(all.assets).toHaveLength(2);
    expect(await rig.json("assets", "show", ICCID)).toMatchObject(asset);
    const update = ["--name", "Pump house 8", "--status", "inactive", "--network-group", "default_10gb"];
    expect(await rig.json("assets", "update", SERIAL, ...update)).toMatchObject({
      name: "Pump house 8",
      status: "inactive",
      supersim: { network_group: "default_10gb" },
    });
    const table = await rig.user.run(["assets", "list", "--status", "inactive"]);
    expect(table.stdout).toContain("Pump house 8");
  });

  test("an unknown asset is exit code 4; a refusal by the service is exit code 1, with the reason", async () => {
    await using rig = await setUp();
    const missing = await rig.user.run(["assets", "show", "../../etc"]);
    expect(missing).toMatchObject({ code: 4, stdout: "" });
    expect(missing.stderr).toContain("Asset not found (AssetNotFound)");
    const refused = await rig.user.run(["assets", "update", SERIAL, "--network-group", "none-such"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("UnknownNetworkGroup");
    expect((await rig.user.run(["assets", "update", SERIAL])).code).toBe(2);
  });

  test("a revoked key is exit code 3", async () => {
    await using rig = await setUp();
    await rig.plane.store.keys.revokeKey(rig.account.keyId, START);
    const { code, stderr } = await rig.user.run(["whoami"]);
    expect(code).toBe(3);
    expect(stderr).toContain("edgectl login");
    expect(stderr).not.toContain(rig.account.apiKey);
  });

  test("usage is fetched for the given time", async () => {
    await using rig = await setUp();
    await rig.plane.store.usage.recordUsage(usageRecords());
    const range = ["--sim", "supersim", "--granularity", "day", "--from", "2026-01-01", "--to", "2026-01-02"];
    expect(await rig.json("usage", SERIAL, ...range)).toMatchObject({
      start_time: START,
      usages: [{ network_group: "default_1gb", total: 1_500_000 }],
    });
    const table = await rig.user.run(["usage", SERIAL, ...range]);
    expect(table.stdout).toMatch(/2026-01-01\s+default_1gb\s+1\.50 MB\s+█+/);
    const none = await rig.user.run(["usage", SERIAL, "--sim", "prosim"]);
    expect(none.code).toBe(4);
    expect(none.stderr).toContain("SimNotFound");
  });
});

describe("edgectl against the service: deployments", () => {
  test("follows a deployment to its success, and finds it again afterwards", async () => {
    await using rig = await setUp();
    await using device = await FakeDevice.connect(rig.plane.agentUrl, rig.deviceToken);
    const app = join(rig.user.configDirectory, "app.json");
    await writeFile(app, JSON.stringify({ name: "web", image: "web:1", environments: [{ key: "A", value: "file" }] }));
    const args = ["deploy", SERIAL, "-f", app, "--env", "A=flag", "--port", "30080:80"];
    await using command = rig.user.start(args);
    const { deployment_id: id, spec } = await device.next("deploy");
    expect(spec).toMatchObject({
      name: "web",
      environments: [{ key: "A", value: "flag" }],
      ports: [{ host_port: 30080, target_port: 80 }],
    });
    device.event(id, { step: "pulling", message: "Pulling.", progress: 40, bytes: { done: 4000, total: 10_000 } });
    device.success(id);
    expect(await command.exited).toBe(0);
    expect(command.stdout()).toContain("pulling: 40 % (4.00 kB of 10.0 kB)");
    expect(command.stdout()).toContain("The app runs.");
    expect(command.stderr()).toBe("");
    const list = await rig.json("deployments", "list", SERIAL);
    expect(list).toMatchObject({ deployments: [{ deployment_id: id, app: "web", status: "Success" }] });
    expect(await rig.json("deployments", "show", SERIAL, id)).toMatchObject({ image: "web:1", status: "Success" });
    const watched = await rig.user.run(["deployments", "watch", SERIAL, id, "--json"]);
    expect(lines(watched.stdout).at(-1)).toMatchObject({ status: "Success", deployment_id: id });
    const late = await rig.user.run(["deployments", "cancel", SERIAL, id]);
    expect(late.code).toBe(1);
    expect(late.stderr).toContain("had succeeded already");
    expect((await rig.user.run(["deployments", "show", SERIAL, "none-such"])).code).toBe(4);
  });

  test("resumes the stream after a cut, with no event missing or repeated", async () => {
    await using rig = await setUp();
    await using device = await FakeDevice.connect(rig.plane.agentUrl, rig.deviceToken);
    await using command = rig.user.start(["deploy", SERIAL, "--name", "web", "--image", "web:1", "--json"]);
    const { deployment_id: id } = await device.next("deploy");
    for (let cut = 0; cut < 3; cut++) {
      device.event(id, { message: `Before cut ${cut}.` });
      await command.waitForOutput(`Before cut ${cut}.`);
      rig.relay.cut();
      device.event(id, { message: `During cut ${cut}.` });
    }
    device.success(id);
    expect(await command.exited).toBe(0);
    const events = lines(command.stdout());
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ status: "Success" });
    expect(command.stderr()).toContain("Connection lost");
    const { deployments } = (await rig.json("deployments", "list", SERIAL)) as { deployments: unknown[] };
    expect(deployments).toHaveLength(1);
  });

  test("a deployment that fails is exit code 1, with the service's message to the letter", async () => {
    await using rig = await setUp();
    const args = ["deploy", SERIAL, "--name", "web", "--image", "web:1"];
    const offline = await rig.user.run(args);
    expect(offline.code).toBe(1);
    expect(offline.stderr).toContain("Error: Device not reachable (DeviceNotReachable)");
    const unknown = await rig.user.run(["deploy", "none-such", ...args.slice(2)]);
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain("Error: Asset not found (AssetNotFound)");
    const invalid = await rig.user.run([...args, "--volume", "/a/../b:/c"]);
    expect(invalid.code).toBe(1);
    expect(invalid.stderr).toContain("volumes[0].local: must not contain a '..' segment");
  });

  test("cancel ends a running deployment, and watchers are told why", async () => {
    await using rig = await setUp();
    await using device = await FakeDevice.connect(rig.plane.agentUrl, rig.deviceToken);
    await using command = rig.user.start(["deploy", SERIAL, "--name", "web", "--image", "web:1"]);
    const { deployment_id: id } = await device.next("deploy");
    device.event(id, { message: "At work." });
    await command.waitForOutput("At work.");
    const cancelled = await rig.user.run(["deployments", "cancel", SERIAL, id]);
    expect(cancelled).toMatchObject({ code: 0, stderr: "" });
    await device.next("cancel");
    device.event(id, {
      status: "Fail",
      code: "DeploymentCancelled",
      message: "The deployment was cancelled.",
      step: "done",
    });
    expect(await command.exited).toBe(1);
    expect(command.stderr()).toContain("DeploymentCancelled");
  });
});
