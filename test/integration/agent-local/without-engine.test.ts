import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";
import { ControlPeer } from "../../support/link/control-peer.ts";
import { waitFor } from "../../support/wait-for.ts";

interface Answer {
  readonly agent: { readonly version: string } | null;
  readonly link: { readonly state: string; readonly asset: { readonly serial_number: string } | null };
  readonly device: { readonly engine: { readonly ok: boolean } };
  readonly troubles: readonly string[];
}

describe("commands on a device without an engine", () => {
  let device: LocalAgent;

  beforeEach(async () => {
    device = await LocalAgent.create();
  });
  afterEach(() => device[Symbol.asyncDispose]());

  it("status shows why there is no link and no engine, and what to do next", async () => {
    await device.start();
    const { code, stdout } = await device.command("status");
    expect(code).toBe(1);
    expect(stdout).toMatch(/Link +offline for/);
    expect(stdout).toMatch(/No link to the control plane: nothing listens/);
    expect(stdout).toMatch(/container engine does not answer/);
    expect(stdout).toMatch(/edge-agent doctor/);
  });

  it("status shows the asset of the device", async () => {
    await using peer = await ControlPeer.start();
    await device.configure({ url: `ws://127.0.0.1:${peer.port}/v1/agent` });
    await device.start();
    const online = await waitFor("online", async () => {
      const answer = await device.json<Answer>("status");
      return answer.link.state === "online" && answer;
    });
    expect(online.link.asset).toMatchObject({ serial_number: "SN-1" });
    expect((await device.command("status")).stdout).toMatch(/online for \d+ s, as SN-1 \(Gateway\)/);
  });

  it("status with the daemon down says so, and shows what is known without it", async () => {
    const daemon = await device.start();
    daemon.kill("SIGTERM");
    await daemon.exited;
    const { code, stdout } = await device.command("status");
    expect(code).toBe(3);
    expect(stdout).toMatch(/The agent is not running/);
    expect(stdout).toMatch(/No apps on this device/);
    const answer = await device.json<Answer>("status");
    expect(answer).toMatchObject({ agent: null, device: { apps: [], engine: { ok: false } } });
  });

  it("status on a device where the agent never ran says what is unknown", async () => {
    const { code, stdout } = await device.command("status");
    expect(code).toBe(3);
    expect(stdout).toMatch(/Nothing is known of the apps/);
  });

  it.each([
    ["apps", 3],
    ["logs", 3],
    ["app node-red", 3],
    ["events", 3],
    ["restart node-red", 3],
  ])("%s with the daemon down ends with %d", async (command, expected) => {
    const { code, stderr } = await device.command(...command.split(" "));
    expect(code).toBe(expected);
    expect(stderr).toMatch(/not running/);
  });

  it("a failed local deployment shows its reason, also in the events", async () => {
    await device.start();
    const file = join(device.directory, "app.json");
    await writeFile(file, JSON.stringify({ name: "web", image: "localhost/web:1" }));
    const { code, stdout } = await device.command("deploy", "-f", file);
    expect(code).toBe(1);
    expect(stdout).toMatch(/EngineUnavailable/);
    expect(stdout).toMatch(/What to do:/);
    expect((await device.command("events")).stdout).toMatch(/Fail +web: The container engine does not answer/);
    await device.kill();
    const stored = await device.command("events");
    expect(stored).toMatchObject({ code: 3, stdout: expect.stringMatching(/Fail +web:/) as string });
    await device.start();
    const { code: missing, stdout: story } = await device.command("app", "web");
    expect(missing).toBe(1);
    expect(story).toMatch(/no deployment of it succeeded/);
  });

  it("a file without an app is refused by name, one without JSON without quoting it", async () => {
    await device.start();
    const file = join(device.directory, "app.json");
    await writeFile(file, JSON.stringify({ name: "web", image: "web:1", port: 1 }));
    expect((await device.command("deploy", "-f", file)).stdout).toMatch(/port: unknown field; did you mean `ports`\?/);
    await writeFile(file, `{"environments": [{"key": "PASSWORD", "value": "hunter2hunter2" oops`);
    const broken = await device.command("deploy", "-f", file);
    expect(broken.code).toBe(2);
    expect(broken.stderr).toMatch(/not valid JSON/);
    await writeFile(file, "name: web\nenvironments:\n  PASSWORD: hunter2hunter2\n");
    const yaml = await device.command("deploy", "-f", file);
    expect(yaml).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("app.json is YAML; this takes JSON.") as string,
    });
    for (const { stdout, stderr } of [broken, yaml]) expect(stdout + stderr).not.toMatch(/hunter2/);
  });

  it("the agent's own log is shown, and followed", async () => {
    await device.start();
    expect((await device.command("logs")).stdout).toMatch(/info +edge-agent starts/);
    const following = device.follow("logs", "-f", "-n", "0");
    await following.waitForOutput("no link to the control plane");
    following.kill("SIGINT");
    expect(await following.exited).toBe(130);
  });

  it("an invalid number is wrong usage", async () => {
    const { code, stderr } = await device.command("logs", "--lines", "many");
    expect([code, stderr]).toEqual([2, expect.stringContaining("whole number")]);
  });

  it("every command has help with its exit codes or an example", async () => {
    for (const name of ["status", "apps", "app", "logs", "events", "restart", "deploy"]) {
      const { code, stdout } = await device.command(name, "--help");
      expect(code).toBe(0);
      expect(stdout).toMatch(/Exit codes|Example/);
    }
  });
});
