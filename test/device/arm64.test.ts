import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { VERSION } from "../../src/lib/version.ts";
import { DatagramReceiver } from "../support/datagram-receiver.ts";
import { arm64Image } from "../support/device/device-image.ts";
import { Device } from "../support/device/device.ts";
import { devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { emulateArm64 } from "../support/device/emulate-arm64.ts";
import { TestBackend } from "../support/device/test-backend.ts";
import { testPackage } from "../support/device/test-package.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";

/** Emulation is about ten times slower than a native processor. */
const TIMEOUT_MS = 900_000;

test(
  "the package for arm64 installs, enrols, links, and answers status and doctor, under emulation",
  async ({ skip }) => {
    const owned = new AsyncDisposableStack();
    onTestFinished(() => owned.disposeAsync());
    const missing = await devicesUnavailableReason();
    if (missing !== undefined) return skip(missing);
    const emulation = await emulateArm64();
    if (typeof emulation === "string") return skip(emulation);
    owned.use(emulation);
    const { path: shared } = owned.use(await tempDir());
    const engine = owned.use(await startDeviceEngine("engine-arm64"));
    const outside = owned.use(await TestBackend.start(engine.hostAddress));
    const image = await arm64Image(engine.socketPath);
    const device = owned.use(await Device.startEmpty({ engineSocket: engine.socketPath, image, shared }));
    const asset = await outside.asset("gateway-arm64");
    expect(await device.succeed("dpkg --print-architecture")).toBe("arm64\n");

    // Without compression: to unpack it under emulation takes a minute.
    const deb = await testPackage(shared, { arch: "arm64", compression: "none" });
    await device.copy(deb, "/root/edge-agent.deb");
    // The device has the files of the packages that it depends on, and dpkg does not know that.
    await device.succeed("dpkg --install --force-depends /root/edge-agent.deb");
    expect(await device.succeed("edge-agent --version")).toBe(`${VERSION}\n`);
    expect(await device.run("edge-agent status")).toMatchObject({
      code: 3,
      stdout: expect.stringContaining("The agent is not running") as string,
    });

    await device.copy(outside.caFile, "/etc/edge-agent/ca.pem");
    await device.succeed(`sed -i '1a "extra_ca_file": "/etc/edge-agent/ca.pem",' /etc/edge-agent/config.json`);
    const enrolled = await device.succeed(
      `edge-agent enroll --url ${outside.agentUrl} --token-file -`,
      `${asset.deviceToken}\n`,
    );
    expect(enrolled).toContain("as gateway-arm64");
    const doctor = await device.run("edge-agent doctor");
    expect(doctor.stdout).toMatch(/(✓|ok) Device token/);
    // The device has no engine, which is the only problem.
    expect(doctor.stdout).toMatch(/ (!|!!|x) +Container engine|Container engine/);

    using systemd = new DatagramReceiver(join(shared, "notify"));
    void device.run("NOTIFY_SOCKET=/shared/notify edge-agent run").catch(() => {});
    const messages = new Set<string>();
    await waitFor("the agent to say that it is ready and online", () => {
      for (let text = systemd.take(); text !== undefined; text = systemd.take()) messages.add(text);
      return messages.has("READY=1") && messages.has("STATUS=Online as gateway-arm64; no apps");
    });
    expect(await device.run("edge-agent status")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/online for [^]*gateway-arm64/) as string,
    });
  },
  TIMEOUT_MS,
);
