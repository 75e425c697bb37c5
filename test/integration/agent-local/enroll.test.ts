import { existsSync } from "node:fs";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { freePort } from "../../support/free-port.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { ControlPeer, httpAnswer } from "../../support/link/control-peer.ts";

const TOKEN = "ed_another-device-token-0123456789abcdefABCDEF";

describe("enroll", () => {
  let device: LocalAgent;
  let tokenFile: string;

  beforeEach(async () => {
    device = await LocalAgent.create();
    tokenFile = join(device.directory, "given.txt");
    await writeFile(tokenFile, `${TOKEN}\n`);
  });
  afterEach(() => device[Symbol.asyncDispose]());

  const enroll = (url: string) => device.command("enroll", "--url", url, "--token-file", tokenFile);
  const stored = (): string => join(device.directory, "token");
  const expectUnchanged = async (before: string): Promise<void> => {
    expect(await readFile(device.configPath, "utf8")).toBe(before);
    expect(existsSync(stored())).toBe(false);
  };

  it("with a real control plane: names the asset, stores the token privately, and the agent links", async () => {
    await using plane = await startControlPlane();
    const { asset, deviceToken } = await plane.asset(await plane.account());
    await writeFile(tokenFile, deviceToken);
    await rm(device.configPath);
    const { code, stdout, stderr } = await enroll(plane.agentUrl);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`knows this device as ${asset.serialNumber} (Test gateway), ${asset.uuid}`);
    expect((await readFile(stored(), "utf8")).trim()).toBe(deviceToken);
    expect((await stat(stored())).mode & 0o777).toBe(0o600);
    expect((await stat(device.configPath)).mode & 0o777).toBe(0o640);
    expect(stdout + (await readFile(device.configPath, "utf8"))).not.toContain(deviceToken);
    expect((await device.command("config", "check")).code).toBe(0);
  });

  it("keeps the other settings of the configuration, and removes the old token", async () => {
    await using peer = await ControlPeer.start();
    await device.configure({ config: { log: { level: "debug" } } });
    expect((await enroll(`ws://127.0.0.1:${peer.port}/v1/agent`)).code).toBe(0);
    const config = JSON.parse(await readFile(device.configPath, "utf8")) as Record<string, unknown>;
    expect(config).toMatchObject({ log: { level: "debug" }, device_token_file: stored() });
    expect(config).not.toHaveProperty("device_token");
    expect(peer.sessions[0]?.request.headers.authorization).toBe(`Bearer ${TOKEN}`);
  });

  it("with an authority of the site's own, whose certificate is kept beside the configuration", async () => {
    const ca = await CertificateAuthority.create(device.directory, "ca");
    await using peer = await ControlPeer.start({ tls: await ca.issue("IP:127.0.0.1") });
    const given = join(device.directory, "given.pem");
    await writeFile(given, ca.cert);
    const args = ["enroll", "--url", `https://127.0.0.1:${peer.port}`, "--token-file", tokenFile, "--ca"];
    expect((await device.command(...args, tokenFile)).stderr).toContain("does not contain a PEM certificate");
    expect(await device.command(...args, given)).toMatchObject({ code: 0, stderr: "" });
    const kept = join(device.directory, "ca.pem");
    expect(await readFile(kept, "utf8")).toBe(ca.cert);
    expect((await stat(kept)).mode & 0o777).toBe(0o644);
    expect(JSON.parse(await readFile(device.configPath, "utf8"))).toMatchObject({ extra_ca_file: kept });
  });

  it("changes nothing when the token is refused, nothing listens, or the certificate is not trusted", async () => {
    const before = await readFile(device.configPath, "utf8");
    await using refusing = await ControlPeer.start({ refuse: () => httpAnswer("401 Unauthorized") });
    const ca = await CertificateAuthority.create(device.directory, "ca");
    await using unknown = await ControlPeer.start({ tls: await ca.issue("IP:127.0.0.1") });
    for (const [url, why] of [
      [`ws://127.0.0.1:${refusing.port}/v1/agent`, /Device token: .*refused/],
      [`ws://127.0.0.1:${await freePort()}/v1/agent`, /TCP connection: /],
      [`wss://127.0.0.1:${unknown.port}/v1/agent`, /TLS: .*extra_ca_file/],
    ] as const) {
      const { code, stderr } = await enroll(url);
      expect(code).toBe(1);
      expect(stderr).toMatch(why);
      expect(stderr).not.toContain(TOKEN);
      await expectUnchanged(before);
    }
  });

  it("changes nothing when the handshake is never answered", async () => {
    const before = await readFile(device.configPath, "utf8");
    await using mute = await ControlPeer.start({ onFrame: () => undefined });
    const { code, stderr } = await enroll(`ws://127.0.0.1:${mute.port}/v1/agent`);
    expect([code, stderr]).toEqual([1, expect.stringContaining("did not answer the handshake")]);
    await expectUnchanged(before);
  });

  it("refuses a token file with other content, without quoting it, and an invalid address", async () => {
    const before = await readFile(device.configPath, "utf8");
    await writeFile(tokenFile, "BEGIN PRIVATE planted-key");
    const { code, stderr } = await enroll("ws://127.0.0.1:1/v1/agent");
    expect([code, stderr]).toEqual([2, expect.stringContaining("does not contain a device token")]);
    expect(stderr).not.toContain("planted-key");
    await writeFile(tokenFile, TOKEN);
    expect((await enroll("ftp://127.0.0.1:1/")).stderr).toMatch(/control_plane_url: must be a URL/);
    expect((await enroll("ws://example.com/v1/agent")).stderr).toMatch(/ws:\/\/ is for this machine only/);
    // In the words of what was typed.
    expect((await enroll("http://example.com")).stderr).toMatch(/ http:\/\/ is for this machine only; use https:\/\//);
    await expectUnchanged(before);
  });
});
