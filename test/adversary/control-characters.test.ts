import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "../support/command.ts";
import { someApp, someFacts, someState } from "../support/control-plane/device-samples.ts";
import { FakeDevice, type FrameOf } from "../support/fake-device.ts";
import { ControlProcess } from "../support/system/control.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

/** Control characters of both blocks: sets the title, clears the screen, rings, reverses text, and forges a line. */
const EVIL = "\u001b]0;o\u0007\u001b[2J\u009b31m\u009d0;o\u009c\u202e\u2066\u2028\u200f\u007f\r\nforged";
// eslint-disable-next-line no-control-regex -- the test looks for them
const CONTROL_CHARACTERS = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu;

/** Control characters in a text, without line ends, and forged lines. */
function dangers(text: string): string[] {
  const found = text.match(CONTROL_CHARACTERS)?.filter((one) => one !== "\n") ?? [];
  return [...new Set(found.map((one) => `U+${one.charCodeAt(0).toString(16)}`)), ...(text.match(/^forged.*/gm) ?? [])];
}

/** Runs a command in a pseudo-terminal and returns its output. */
async function onTerminal(command: string, variables: Record<string, string>): Promise<string> {
  const { stdout } = await run("script", ["-qec", command, "/dev/null"], { env: { ...variables, TERM: "xterm" } });
  return stdout;
}

/** The programs' own sequences: colours, and a line that is cleared and rewritten with the cursor hidden. */
const OWN = "\\u001b\\[[\\d;]*m|\\r\\u001b\\[2?K|\\u001b\\[\\?25[lh]";
const plain = (text: string): string => text.replaceAll(new RegExp(OWN, "g"), "").replaceAll("\r\n", "\n");

const owned = new AsyncDisposableStack();
let control: ControlProcess;
let device: FakeDevice;
let env: Record<string, string>;
let directory: string;
let deploymentId: string;
const SERIAL = "GW-EVIL";

beforeAll(async () => {
  directory = owned.use(await tempDir()).path;
  control = owned.use(new ControlProcess(directory, ["--log-level", "trace"]));
  await control.start();
  const account = await control.createAccount("honest");
  const asset = await control.addAsset(account.accountId, SERIAL);
  env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey, XDG_CONFIG_HOME: directory, LC_ALL: "C.UTF-8" };
  device = owned.use(await FakeDevice.open(`ws://127.0.0.1:${control.port}/v1/agent`, asset.deviceToken));
  device.send({ type: "hello", protocol: 1, agent_version: EVIL, deployments: [] });
  await device.next("welcome");
  const facts = someFacts({
    agent_version: EVIL,
    engine: { kind: EVIL, version: EVIL },
    architecture: EVIL.slice(0, 32),
    os: EVIL,
    kernel: EVIL,
    hostname: EVIL,
    model: EVIL,
  });
  const image = `registry.example.com/${EVIL}`;
  const odd = someApp(`odd${EVIL}`, { image, image_digest: EVIL, spec: { name: EVIL, image, command: [EVIL] } });
  const web = someApp("web", {
    image,
    spec: {
      name: "web",
      image,
      environments: [{ key: EVIL, value: EVIL }],
      volumes: [{ local: `/data/${EVIL}`, target: EVIL, readonly: false }],
      command: [EVIL],
    },
  });
  device.report({ hash: EVIL, apps: [odd, web], device: facts });
  const state = {
    ...someState(),
    ...facts,
    interfaces: [{ ...someState().interfaces[0], name: EVIL, addresses: [EVIL] }],
    containers: [{ name: EVIL, app: EVIL, image: EVIL, status: EVIL.slice(0, 32) }],
  };
  deploymentId = await deployOnce(account.apiKey, asset.uuid);
  void answerQueries(state, web);
});
afterAll(() => owned.disposeAsync());

/** Answers every query with control characters. */
async function answerQueries(state: unknown, app: unknown): Promise<void> {
  for (;;) {
    const query = await device.next("query").catch((): FrameOf<"query"> | undefined => undefined);
    if (!query) {
      if (device.isClosed) return;
      continue;
    }
    const line = (stream: string) => ({ stream, time: EVIL, text: `line ${EVIL}` });
    const answers: Record<string, unknown> = {
      device: state,
      app: { app },
      logs: { lines: [line("stdout"), line("stderr")], omitted_lines: 3 },
    };
    device.answer(query.query_id, answers[query.what] ?? { odd: EVIL });
    device.endQuery(query.query_id, query.what === "logs" ? "EngineUnavailable" : undefined, EVIL);
  }
}

async function deployOnce(apiKey: string, uuid: string): Promise<string> {
  const url = `${control.url}/v1/assets/${uuid}/edge/apps`;
  const headers = { "X-API-Key": apiKey, "Content-Type": "application/json" };
  const opening = fetch(url, { method: "POST", headers, body: JSON.stringify({ name: "api", image: "web:1" }) });
  const { deployment_id: id } = await device.next("deploy");
  device.event(id, { message: EVIL, step: "pulling", progress: 3, bytes: { done: 1, total: 2 } });
  device.event(id, { message: EVIL, step: "creating", details: { [EVIL]: EVIL } });
  device.event(id, {
    status: "Fail",
    step: "verifying",
    code: "CrashLoopBackOff",
    message: EVIL,
    details: { logs: [EVIL, EVIL], reason: EVIL, [EVIL]: { [EVIL]: EVIL } },
  });
  await (await opening).text();
  return id;
}

const COMMANDS: readonly (readonly string[])[] = [
  ["device", SERIAL],
  ["apps", "list", SERIAL],
  ["apps", "show", SERIAL, "web"],
  ["apps", "show", SERIAL, `odd${EVIL}`],
  ["apps", "logs", SERIAL, "web", "--timestamps"],
  ["deployments", "list", SERIAL],
  ["deployments", "show", SERIAL, "ID"],
  ["deployments", "watch", SERIAL, "ID"],
  ["data-usage", SERIAL],
  ["assets", "show", SERIAL],
];

describe("edgectl", () => {
  test.each(COMMANDS.map((args) => [args]))("%j prints no control characters", async (args) => {
    const own = args.map((arg) => (arg === "ID" ? deploymentId : arg));
    for (const more of [[], ["--json"]]) {
      const { code, stdout, stderr } = await run("dist/edgectl", [...own, ...more], { env });
      expect([0, 1]).toContain(code);
      expect(stdout + stderr).not.toBe("");
      expect(dangers(stdout + stderr)).toEqual([]);
    }
    const quoted = own.map((arg) => `'${arg}'`).join(" ");
    const shown = await onTerminal(`dist/edgectl ${quoted}`, env);
    expect(shown).not.toBe("");
    expect(dangers(plain(shown))).toEqual([]);
  });
});

describe("edge-control", () => {
  test("logs no control characters from a device", async () => {
    await waitFor("the device in the log", () => control.output().includes("device online"));
    device.send({ type: EVIL });
    device.send({ type: "refuse", deployment_id: EVIL, code: EVIL, message: EVIL });
    await device.flushed();
    const output = control.output();
    expect(output).toContain("forged");
    expect(dangers(output)).toEqual([]);
  });

  test("prints no control characters from names in its store or on the command line", async () => {
    const at = ["--data-dir", control.dataDir];
    const { account_id: id = "" } = await control.administer("account", "create", `x${EVIL}`);
    await control.administer("key", "create", "--account", id, "--name", EVIL);
    const commands = [
      ["key", "list", ...at],
      ["key", "list", "--json", ...at],
      ["account", "list", ...at],
      ["key", "revoke", EVIL, ...at],
      ["asset", "add", "--account", EVIL, "--serial-number", EVIL, ...at],
      ["usage", "import", EVIL, ...at],
      ["restore", join(directory, EVIL), ...at],
    ];
    for (const args of commands) {
      const { stdout, stderr } = await run("dist/edge-control", args);
      expect(stdout + stderr).not.toBe("");
      expect({ args, dangers: dangers(stdout + stderr) }).toEqual({ args, dangers: [] });
    }
  });

  test("returns logs as text in which a device cannot forge lines", async () => {
    const asset = `${control.url}/v1/assets/${SERIAL}`;
    const headers = { "X-API-Key": env["EDGECTL_API_KEY"] ?? "", Accept: "text/plain" };
    const text = await (await fetch(`${asset}/edge/apps/web/logs`, { headers })).text();
    expect(text).toContain("forged");
    expect(dangers(text)).toEqual([]);
  });
});

describe("edge-agent", () => {
  test("prints and logs no control characters from its control plane and its files", async () => {
    // A server that refuses the handshake with control characters.
    const liar = createServer((socket) => {
      socket.on("error", () => {});
      socket.end(`HTTP/1.1 403 ${EVIL.replaceAll(/[\r\n]/g, "")}\r\nConnection: close\r\n\r\n${EVIL}`);
    });
    await new Promise<void>((resolve) => {
      liar.listen(0, "127.0.0.1", resolve);
    });
    owned.defer(() => void liar.close());
    const { port } = liar.address() as { port: number };
    const commands = [
      ["enroll", "--url", `http://127.0.0.1:${port}`, "--code", "7K3MQ-XW9TD", "--config", join(directory, "new.json")],
      ["enroll", "--url", EVIL, "--code", "7K3MQ-XW9TD", "--config", join(directory, "new.json")],
      ["status", "--config", join(directory, EVIL)],
      ["config", "check", "--config", join(directory, EVIL)],
      ["run", "--config", join(directory, EVIL)],
      ["app", EVIL, "--config", join(directory, "none.json")],
    ];
    for (const args of commands) {
      const { stdout, stderr } = await run("dist/edge-agent", args);
      expect(stdout + stderr).not.toBe("");
      expect({ args, dangers: dangers(stdout + stderr) }).toEqual({ args, dangers: [] });
    }
  });
});
