import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run, start } from "../../support/command.ts";
import { LocalAgent } from "../../support/agent-local/local-agent.ts";

describe("the agent's socket", () => {
  let device: LocalAgent;

  beforeEach(async () => {
    device = await LocalAgent.create();
  });
  afterEach(() => device[Symbol.asyncDispose]());

  it("is open to its owner and group only", async () => {
    await device.start();
    const { mode } = await stat(device.socketPath);
    expect(mode & 0o777).toBe(0o660);
  });

  it.skipIf(process.getuid?.() !== 0)("reports missing permission to a user", async () => {
    await device.start();
    const args = ["--reuid", "65534", "--clear-groups", process.execPath, "src/agent/main.ts", "apps"];
    const { code, stderr } = await run("setpriv", [...args, "--socket", device.socketPath]);
    expect([code, stderr]).toEqual([5, expect.stringContaining("no permission to use")]);
  });

  it("is replaced after a daemon was killed", async () => {
    await device.start();
    await device.kill();
    expect((await device.command("apps")).code).toBe(3);
    await device.start();
    expect((await device.command("apps")).code).toBe(0);
  });

  it("of an agent that hangs does not hang commands: they say so, and show what is stored", async () => {
    const daemon = await device.start();
    const file = join(device.directory, "web.json");
    await writeFile(file, JSON.stringify({ name: "web", image: "example/web:1" }));
    // There is no engine.
    expect((await device.command("deploy", "--file", file)).code).toBe(1);
    daemon.kill("SIGSTOP");
    try {
      const [status, events, apps] = await Promise.all(
        ["status", "events", "apps"].map((name) => device.command(name)),
      );
      expect([status?.code, events?.code, apps?.code]).toEqual([3, 3, 3]);
      expect(status?.stdout).toMatch(/^The agent hangs: it has .* open and does not respond\.\n/);
      expect(status?.stdout).toContain("kill it");
      expect(status?.stdout).not.toContain("Nothing is known of the apps");
      expect(events).toMatchObject({
        stdout: expect.stringMatching(/web.*Fail/s) as string,
        stderr: expect.stringContaining("the agent hangs") as string,
      });
    } finally {
      daemon.kill("SIGCONT");
    }
    expect((await device.command("events")).code).toBe(0);
  });

  it("is never taken from a daemon that listens", async () => {
    await device.start();
    const other = await LocalAgent.create({ config: { local: { socket: device.socketPath } } });
    await using _other = other;
    const second = await other.start();
    await second.waitForOutput("another process listens");
    const { agent } = await device.json<{ agent: { pid: number } }>("status");
    expect(agent.pid).not.toBe(second.pid);
  });

  it("does not replace a file that is not a socket, and the agent runs without it", async () => {
    await writeFile(device.socketPath, "precious");
    const daemon = await device.start();
    await daemon.waitForOutput("is not a socket");
    expect((await stat(device.socketPath)).size).toBe(8);
  });

  it("returns an error for an unknown and for an invalid request, and keeps running", async () => {
    await device.start();
    for (const args of [["/v1/nothing"], ["/elsewhere"], ["-d", "{", "/v1/deployments"], ["/v1/apps/%E0%A4%A"]]) {
      const path = args.at(-1) ?? "";
      const curl = start("curl", [
        "-s",
        "--unix-socket",
        device.socketPath,
        ...args.slice(0, -1),
        `http://agent${path}`,
      ]);
      await using _curl = curl;
      await curl.exited;
      expect(JSON.parse(curl.stdout())).toMatchObject({ error: { code: expect.any(String) as string } });
    }
    expect((await device.command("apps")).code).toBe(0);
  });
});
