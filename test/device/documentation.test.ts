import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../src/lib/version.ts";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage, type EnginePackage } from "../support/device/device-image.ts";
import { TestBackend } from "../support/device/test-backend.ts";
import { testPackage } from "../support/device/test-package.ts";
import { blocksOf, documented, fill } from "../support/documentation.ts";
import { loadImage, webImage } from "../support/images.ts";
import { tempDir } from "../support/temp-dir.ts";
import type { Asset } from "../support/system/control.ts";

const missing = await devicesUnavailableReason();
const SERVICE = "https://control.example.com";
const CODE = "7K3MQ-XW9TD";
const HOME = "/home/technician";
const PACKAGE = `edge-agent_${VERSION}_amd64.deb`;

/** Runs commands of a page in a login shell of the user, which ends with the first that fails. */
const run = (device: Device, text: string): Promise<string> =>
  device.succeed("runuser --login technician --command 'bash -eo pipefail -s'", text);

/** The pages for people at a device, followed on Debian 12 as printed, by a user with sudo. The tests run in order. */
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

  /** Starts a device with a user who has sudo, and the package's files and the site's authority in the home directory. */
  async function startDevice(packageOfEngine: EnginePackage): Promise<Device> {
    const device = owned.use(
      await Device.start({
        engineSocket: engine.socketPath,
        image: await deviceImage(engine.socketPath, "bookworm", packageOfEngine),
        insecureRegistries: packageOfEngine === "podman" ? [] : [outside.registryHost],
      }),
    );
    await device.succeed("useradd --create-home --shell /bin/bash technician");
    await device.succeed("echo 'technician ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/technician");
    await device.copy(built, `${HOME}/${PACKAGE}`);
    await device.copy("packaging/install.sh", `${HOME}/install.sh`);
    await device.copy(outside.caFile, `${HOME}/site-ca.pem`);
    await device.succeed(`chown -R technician: ${HOME}`);
    return device;
  }

  /** Fills in the address of the service, and a new code of the asset that the documented command makes. */
  async function enrolment(text: string, { serialNumber }: Asset): Promise<string> {
    const [make = ""] = documented("docs/service-setup.md", "Keys and tokens").split("\n");
    const words = fill(make.replace(/\s+#.*$/, ""), { ACCOUNT_ID: outside.accountId, "GW-0001": serialNumber });
    const { code = "" } = await outside.control.administer(...words.split(" ").slice(1));
    // As docs/technician.md says for an authority of the site's own.
    return fill(text, { [SERVICE]: outside.url, [CODE]: `${code} --ca site-ca.pem` });
  }

  describe("with Docker", () => {
    let device: Device;
    let asset: Asset;
    beforeAll(async () => {
      device = await startDevice("docker.io");
      asset = await outside.asset("documented");
    }, 900_000);

    test("install.md: installation, and users of the command", async () => {
      const commands = documented("docs/install.md", "On Debian and its derivatives");
      const [before = "", after = ""] = fill(commands, { VERSION_ARCH: `${VERSION}_amd64` }).split(
        /(?=^sudo systemctl)/m,
      );
      expect(await run(device, await enrolment(before, asset))).toContain("as documented");
      expect(await run(device, after)).toMatch(/Link +(?:online|connecting)/);
      const groups = documented("docs/install.md", "On Debian and its derivatives", 2);
      await run(device, fill(groups, { NAME: "technician" }));
      expect(await device.until("runuser --login technician --command 'edge-agent status'")).toMatch(/Link +online/);
    });

    test("technician.md and service-setup.md: installing and enrolling again", async () => {
      await run(device, fill(documented("docs/technician.md", "First installation"), { arm64: "amd64" }));
      await run(device, await enrolment(documented("docs/technician.md", "First installation", 2), asset));
      const [, again = ""] = documented("docs/service-setup.md", "Keys and tokens").split("\n");
      await device.succeed(`cd ${HOME} && ${await enrolment(again, asset)}`);
      await run(device, "sudo systemctl restart edge-agent");
      await device.until("edge-agent status | grep online");
    });

    test("technician.md: an update from a file, and the journal", async () => {
      const image = (tag: string): string => `${outside.registryHost}/team/node-red:${tag}`;
      const deployed = await outside.deploy(asset, { name: "node-red", image: image("4.1") });
      expect(deployed).toMatchObject({ status: "Success" });
      await device.write(`${HOME}/patch.json`, JSON.stringify({ image: image("4.2") }));
      const update = documented("docs/technician.md", "edge-agent update, stop, start, restart, remove");
      expect(await run(device, update)).toContain("App node-red is updated and running.");
      const [all = "", warnings = "", app = "", ...others] = documented("docs/technician.md", "edge-agent logs").split(
        "\n",
      );
      expect(await run(device, all)).toContain("online");
      await run(device, warnings);
      expect(await run(device, app)).toContain("node-red");
      // Of another deployment and another failure than those of this device: the journal has nothing of them.
      expect(await run(device, others.join("\n"))).toContain("No entries");
    });

    test("install.md: the device as the origin of a disk image", async () => {
      await run(device, documented("docs/install.md", "Devices from one disk image"));
      expect((await device.run("ls /etc/edge-agent/token /var/lib/edge-agent/*")).stdout).toBe("");
      const unit = blocksOf("docs/install.md").find(({ language }) => language === "ini")?.text ?? "";
      await device.write("/etc/systemd/system/edge-agent-first-boot.service", fill(unit, { [SERVICE]: outside.url }));
      await run(device, "sudo systemctl enable edge-agent-first-boot");
      const { code = "" } = await outside.enrolmentCode(asset);
      await device.succeed("umask 077; cat > /etc/edge-agent/enrolment-code", `${code}\n`);
      await device.reboot();
      await device.until("edge-agent status | grep online");
      expect((await device.run("ls /etc/edge-agent/enrolment-code")).code).not.toBe(0);
    });

    test("service-setup.md: by hand, without the unit", async () => {
      await run(device, "sudo systemctl disable --now edge-agent");
      const json = blocksOf("docs/service-setup.md").find(
        ({ heading, language }) => heading === "By hand" && language === "json",
      );
      const own = { ...JSON.parse(fill(json?.text ?? "", { "wss://control.example.com/v1/agent": outside.agentUrl })) };
      await device.write("/etc/edge-agent/config.json", JSON.stringify({ ...own, extra_ca_file: "/root/site-ca.pem" }));
      await device.copy(outside.caFile, "/root/site-ca.pem");
      await device.write("/root/by-hand.sh", documented("docs/service-setup.md", "By hand", 2));
      await device.succeed("systemd-run --unit by-hand --collect sh /root/by-hand.sh");
      await device.until("journalctl -u by-hand -o cat | grep -i online");
      await device.succeed("systemctl stop by-hand");
    });

    test("install.md: another distribution", async () => {
      await device.succeed("dpkg --purge edge-agent");
      const [install = "", remove = "", ...more] = documented(
        "docs/install.md",
        "On another distribution with systemd",
      ).split("\n");
      expect(more).toEqual([]);
      await run(device, fill(install, { VERSION_ARCH: `${VERSION}_amd64` }));
      expect(await device.succeed("systemctl is-enabled edge-agent")).toBe("enabled\n");
      await run(device, remove);
      expect((await device.run("edge-agent --version")).code).not.toBe(0);
    });
  });

  test("install.md: Podman in place of Docker", async () => {
    const device = await startDevice("podman");
    const asset = await outside.asset("documented-podman");
    await run(device, `sudo dpkg --install ${PACKAGE}`);
    await run(device, await enrolment(documented("docs/technician.md", "First installation", 2), asset));
    await device.succeed("systemctl restart edge-agent");
    // The doctor names the setting of the documentation: what is changed at the socket itself is lost with it.
    const { stdout } = await device.run("edge-agent doctor");
    expect(stdout).toMatch(
      /no permission to look for its socket[^]*sudo systemctl edit podman\.socket.*SocketGroup=edge-agent/,
    );
    await run(device, documented("docs/install.md", "What the service may do"));
    await run(device, documented("docs/install.md", "What the service may do", 2));
    expect(await device.until("edge-agent status | grep 'podman 4'")).toContain("podman");
    expect(await device.succeed("sysctl -n net.ipv4.conf.all.arp_notify")).toBe("1\n");
    const { reference: image } = await loadImage(device.engineSocket, await webImage(), "podman-app");
    const { status, message } = await outside.deploy(asset, { name: "web", image });
    expect([status, message]).toEqual(["Success", expect.any(String)]);
  }, 900_000);
});
