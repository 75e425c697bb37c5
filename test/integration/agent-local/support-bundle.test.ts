import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newApp, newRecord } from "../../../src/agent/core/records.ts";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { parseAppSpec } from "../../../src/protocol/apps/app-spec.ts";
import { LocalAgent, DEVICE_TOKEN } from "../../support/agent-local/local-agent.ts";
import { ControlPeer } from "../../support/link/control-peer.ts";
import { startScriptedEngine } from "../../support/scripted-engine.ts";

const PLANTED = {
  variable: "planted-variable-5f0c1b",
  other: 'planted "quoted" variable',
  address: "planted-password-77",
  proxy: "planted-proxy-password",
};

async function unpack(path: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const tar = extract();
  tar.end(gunzipSync(await readFile(path)));
  for await (const entry of tar) {
    const chunks: Buffer[] = [];
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk);
    files.set(entry.header.name, Buffer.concat(chunks).toString());
  }
  return files;
}

function expectNoSecret(files: ReadonlyMap<string, string>): void {
  for (const [name, content] of files) {
    for (const secret of [DEVICE_TOKEN, ...Object.values(PLANTED), JSON.stringify(PLANTED.other).slice(1, -1)]) {
      expect(content.includes(secret), `${secret} in ${name}`).toBe(false);
    }
  }
}

describe("support-bundle", () => {
  let device: LocalAgent;

  beforeEach(async () => {
    device = await LocalAgent.create();
  });
  afterEach(() => device[Symbol.asyncDispose]());

  it("contains everything but the secrets, wherever they occur", async () => {
    const parsed = parseAppSpec({
      name: "web",
      image: "localhost/web:1",
      environments: [
        { key: "PASSWORD", value: PLANTED.variable },
        { key: "OTHER", value: PLANTED.other },
      ],
    });
    if (!parsed.ok) throw parsed.error;
    const { spec } = parsed;
    // The engine repeats its input in image names and errors.
    await using engine = await startScriptedEngine((request, response) => {
      response.statusCode = request.url?.includes("/json") ? 500 : 200;
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ message: `bad ${PLANTED.variable} ${PLANTED.other}`, Version: PLANTED.variable }));
    });
    await using peer = await ControlPeer.start();
    await device.configure({
      url: `ws://agent:${PLANTED.address}@127.0.0.1:${peer.port}/v1/agent`,
      config: { engine: { socket: engine.socketPath } },
    });
    const daemon = await device.start();
    daemon.kill("SIGTERM");
    await daemon.exited;
    {
      using store = openSqliteStore({ path: join(device.stateDir, "agent.db"), clock: systemClock, bootId: "b" });
      store.save({ app: newApp(spec, { deploymentId: "d1", imageId: "i", containerId: "c" }) });
      store.save({ deployment: { ...newRecord("d1", 1, spec), outcome: "succeeded" } });
    }
    await device.start();
    const path = join(device.directory, "bundle.tar.gz");
    const env = { https_proxy: `http://user:${PLANTED.proxy}@proxy.invalid:1`, no_proxy: "127.0.0.1" };
    const { files } = await device.json<{ files: string[] }>(`support-bundle ${path}`, env);
    const unpacked = await unpack(path);
    expect([...unpacked.keys()].toSorted()).toEqual(files.map((name) => `bundle/${name}`).toSorted());
    for (const name of [
      "versions.json",
      "status.json",
      "doctor.json",
      "config.json",
      "agent.log",
      "engine.json",
      "apps/web.json",
    ]) {
      expect(unpacked.get(`bundle/${name}`)?.length, name).toBeGreaterThan(2);
    }
    expect(unpacked.get("bundle/agent.log")).toContain("edge-agent starts");
    expectNoSecret(unpacked);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is made without the daemon too, and says what is missing", async () => {
    const path = join(device.directory, "bundle.tgz");
    expect((await device.command("support-bundle", path)).code).toBe(0);
    const files = await unpack(path);
    expect(files.get("bundle/status.json")).toMatch(/not running/);
    expect(files.get("bundle/doctor.json")).toMatch(/"broken"/);
    expectNoSecret(files);
  });

  it("says when the file cannot be written, and leaves nothing behind", async () => {
    await writeFile(join(device.directory, "file"), "");
    const { code, stderr } = await device.command("support-bundle", join(device.directory, "file", "bundle.tar.gz"));
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot be written: ENOTDIR/);
  });
});
