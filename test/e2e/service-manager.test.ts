import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { start } from "../support/command.ts";
import { DatagramReceiver } from "../support/datagram-receiver.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

test("the agent notifies systemd of readiness, status, reload and stop", async () => {
  await using dir = await tempDir();
  using systemd = new DatagramReceiver(join(dir.path, "notify"));
  const config = join(dir.path, "config.json");
  const settings = {
    control_plane_url: "ws://127.0.0.1:9/v1/agent",
    device_token: "ed_test",
    state_dir: join(dir.path, "state"),
    engine: { socket: join(dir.path, "no-engine.sock") },
  };
  await writeFile(config, JSON.stringify(settings));
  const agent = start("dist/edge-agent", ["run", "--config", config], {
    env: { NOTIFY_SOCKET: systemd.path, WATCHDOG_USEC: "3000000" },
  });
  onTestFinished(() => agent[Symbol.asyncDispose]());
  const expectNotification = (line: RegExp): Promise<string> =>
    waitFor(`the notification ${line}`, () => {
      const message = systemd.take();
      return message !== undefined && line.test(message) && message;
    });

  await expectNotification(/^STATUS=Connecting to the control plane; no apps$/);
  await expectNotification(/^READY=1$/);
  await expectNotification(/^STATUS=Offline, trying again \(.+\); no apps$/);
  await expectNotification(/^WATCHDOG=1$/);

  const next = { ...settings, log: { level: "debug" }, link: { keepalive_s: 60 } };
  await writeFile(config, JSON.stringify(next));
  agent.kill("SIGHUP");
  await expectNotification(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
  await expectNotification(/^READY=1$/);
  await agent.waitForOutput(/"log_level":"debug"/);
  await agent.waitForOutput(/"settings":\["link\.keepalive_s"\]/);

  await writeFile(config, "{");
  agent.kill("SIGHUP");
  await agent.waitForOutput("the configuration is not valid");
  await expectNotification(/^READY=1$/);

  agent.kill("SIGTERM");
  await expectNotification(/^STOPPING=1$/);
  expect(await agent.exited).toBe(0);
  expect(agent.stderr()).toBe("");
});
