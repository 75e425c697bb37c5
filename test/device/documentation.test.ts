import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage, type EnginePackage } from "../support/device/device-image.ts";
import { TestBackend } from "../support/device/test-backend.ts";
import { testPackage } from "../support/device/test-package.ts";
import { documented, fill } from "../support/documentation.ts";
import { webImage } from "../support/images.ts";
import { tempDir } from "../support/temp-dir.ts";
import type { Asset } from "../support/system/control.ts";

const missing = await devicesUnavailableReason();
const SERVICE = "https://control.example.com";
const CODE = "7K3MQ-XW9TD";

/** Has the agent trust the certificate of the test's service. */
const trust = (device: Device): Promise<string> =>
  device.succeed(`sed -i '1a "extra_ca_file": "/etc/site-ca.pem",' /etc/edge-agent/config.json`);

/** Runs commands of a page in root's home directory. */
const run = (device: Device, text: string): Promise<string> => device.succeed(`set -e; cd /root; ${text}`);

/** The pages for people at a device, followed on Debian 12 as printed. The tests run in order. */
describe.skipIf(missing !== undefined)("the documentation of devices", () => {
  const owned = new AsyncDisposableStack();
  let engine: DeviceEngine;
  let outside: TestBackend;
  let built: string;

  beforeAll(async () => {
    engine = owned.use(await startDeviceEngine("documentation"));
    outside = owned.use(await TestBackend.start(engine.hostAddress));
    built = await testPackage(owned.use(await tempDir()).path);
    for (const tag of ["4.1", "4.2"]) await outside.registry.push(await webImage(tag), `team/node-red:${tag}`);
  }, 600_000);
  afterAll(() => owned.disposeAsync());

  /** A device on which root stands for a user with sudo, and has the package's files. */
  async function startDevice(packageOfEngine: EnginePackage): Promise<Device> {
    const image = await deviceImage(engine.socketPath, "bookworm", packageOfEngine);
    const options = {
      engineSocket: engine.socketPath,
      image,
      insecureRegistries: packageOfEngine === "podman" ? [] : [outside.registryHost],
    };
    const device = owned.use(await Device.start(options));
    await device.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n');
    await device.copy(built, "/root/edge-agent_0.1.0_amd64.deb");
    await device.copy("packaging/install.sh", "/root/install.sh");
    await device.copy(outside.caFile, "/root/ca.pem");
    await device.succeed("chmod 755 /usr/local/bin/sudo && install -m 644 /root/ca.pem /etc/site-ca.pem");
    return device;
  }

  /** A new code for the asset, made by the documented command. */
  async function newCode({ serialNumber }: Asset): Promise<string> {
    const [command = ""] = documented("docs/operations.md", "Keys and tokens").split("\n");
    const words = fill(command.replace(/\s+#.*$/, ""), { ACCOUNT_ID: outside.accountId, "GW-0001": serialNumber });
    const { code = "" } = await outside.control.administer(...words.split(" ").slice(1));
    return code;
  }

  const enrolment = async (text: string, asset: Asset): Promise<string> =>
    fill(text, { [SERVICE]: outside.url, [CODE]: await newCode(asset) });

  describe("with Docker", () => {
    let device: Device;
    let asset: Asset;
    beforeAll(async () => {
      device = await startDevice("docker.io");
      asset = await outside.asset("documented");
    }, 900_000);

    test("install.md: installation, and users of the command", async () => {
      const commands = documented("docs/install.md", "On Debian and its derivatives").split("\n");
      const [engineOf = "", install = "", enroll = "", restart = "", status = "", ...more] = commands;
      expect(more).toEqual([]);
      await run(device, engineOf);
      await run(device, fill(install, { VERSION_ARCH: "0.1.0_amd64" }));
      await trust(device);
      expect(await run(device, await enrolment(enroll, asset))).toContain("as documented");
      await run(device, restart);
      await device.until("edge-agent status");
      expect(await run(device, status)).toContain("online");
      await device.succeed("useradd ada");
      await run(device, fill(documented("docs/install.md", "On Debian and its derivatives", 2), { NAME: "ada" }));
      expect(await device.succeed("id -nG ada")).toMatch(/edge-agent-read[^]*edge-agent|edge-agent[^]*edge-agent-read/);
    });

    test("technician.md and operations.md: installing and enrolling again", async () => {
      const install = documented("docs/technician.md", "First installation");
      await run(device, fill(install, { arm64: "amd64" }));
      await run(device, await enrolment(documented("docs/technician.md", "First installation", 2), asset));
      const [, enroll = ""] = documented("docs/operations.md", "Keys and tokens").split("\n");
      await run(device, await enrolment(enroll, asset));
      await device.until("systemctl restart edge-agent && edge-agent status | grep online");
    });

    test("technician.md: an update from a file, and the journal", async () => {
      const image = `${outside.registryHost}/team/node-red:4.1`;
      expect(await outside.deploy(asset, { name: "node-red", image })).toMatchObject({ status: "Success" });
      await device.write("/root/patch.json", JSON.stringify({ image: image.replace("4.1", "4.2") }));
      const update = documented("docs/technician.md", "edge-agent update, stop, start, restart, remove");
      expect(await run(device, update)).toContain("App node-red is updated and running.");
      expect(await run(device, documented("docs/technician.md", "edge-agent logs"))).toContain("node-red");
    });

    test("README: by hand, without the unit", async () => {
      await device.succeed("systemctl stop edge-agent");
      const commands = documented("README.md", "Set it up", 2);
      await run(device, `systemd-run --unit by-hand --collect sh -c '${commands}'`);
      await device.until("journalctl -u by-hand -o cat | grep online");
      await device.succeed("systemctl stop by-hand");
    });

    test("install.md: another distribution", async () => {
      await device.succeed("dpkg --purge edge-agent");
      const [install = "", remove = ""] = documented("docs/install.md", "On another distribution with systemd").split(
        "\n",
      );
      await run(device, fill(install, { VERSION_ARCH: "0.1.0_amd64" }));
      expect(await device.succeed("systemctl is-enabled edge-agent")).toBe("enabled\n");
      await run(device, remove);
      expect((await device.run("edge-agent --version")).code).not.toBe(0);
    });
  });

  test("install.md: Podman in place of Docker", async () => {
    const device = await startDevice("podman");
    const asset = await outside.asset("documented-podman");
    await device.succeed("dpkg --install /root/edge-agent_0.1.0_amd64.deb");
    await trust(device);
    await device.succeed(`edge-agent enroll --url ${outside.url} --code ${await newCode(asset)}`);
    await run(device, documented("docs/install.md", "What the service may do"));
    await run(device, documented("docs/install.md", "What the service may do", 2));
    expect(await device.until("edge-agent status | grep 'podman 4'")).toContain("podman");
  }, 900_000);
});
