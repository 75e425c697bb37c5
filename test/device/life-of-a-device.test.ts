import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../src/lib/version.ts";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage, prepareDeviceImage, type Suite } from "../support/device/device-image.ts";
import { TestBackend } from "../support/device/test-backend.ts";
import { appContainer, type ServiceState, serviceState } from "../support/device/service.ts";
import { NEXT_VERSION, testPackage } from "../support/device/test-package.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";
import type { Asset } from "../support/system/control.ts";

const missing = await devicesUnavailableReason();
const PORT = 30_080;
const APP = "node-red";
const SUITES: readonly Suite[] = ["bookworm", "trixie"];
const URL_OF_APP = `http://127.0.0.1:${PORT}/`;

/*
 * The life cycle of a device, from installation to removal. The tests of a suite run in order on the same device.
 */
describe.skipIf(missing !== undefined)("the life of a device", () => {
  const shared = new AsyncDisposableStack();
  let engine: DeviceEngine;
  let outside: TestBackend;
  let packages: { readonly now: string; readonly next: string };
  let image: string;

  beforeAll(async () => {
    engine = shared.use(await startDeviceEngine("engine"));
    // Meanwhile. Where that fails, the suite that needs it tries again and shows why.
    for (const suite of SUITES) void prepareDeviceImage(suite).catch(() => {});
    outside = shared.use(await TestBackend.start(engine.hostAddress));
    const { path } = shared.use(await tempDir());
    const [now, next] = await Promise.all([testPackage(path), testPackage(path, { version: NEXT_VERSION })]);
    packages = { now, next };
    await outside.registry.push(await webImage(), "team/web:1");
    image = `${outside.registryHost}/team/web:1`;
  }, 600_000);
  afterAll(() => shared.disposeAsync());

  describe.each(SUITES)("with Debian %s", (suite) => {
    const owned = new AsyncDisposableStack();
    let device: Device;
    let asset: Asset;
    let startedAt: string;

    beforeAll(async () => {
      const options = { engineSocket: engine.socketPath, image: await deviceImage(engine.socketPath, suite) };
      device = owned.use(await Device.start({ ...options, insecureRegistries: [outside.registryHost] }));
      asset = await outside.asset(`gateway-${suite}`);
    }, 900_000);
    afterAll(() => owned.disposeAsync());

    /** For what does not depend on the versions of systemd, dpkg and the engine. */
    const testOnce: (name: string, run: () => Promise<void>) => void = suite === SUITES[0] ? test : () => {};

    const untilService = (what: string, fits: (state: ServiceState) => boolean): Promise<ServiceState> =>
      waitFor(what, async () => {
        const state = await serviceState(device);
        return fits(state) && state;
      });
    const untilReplaced = (before: ServiceState): Promise<ServiceState> =>
      untilService(
        "another process, online",
        ({ pid, activeState, text }) =>
          activeState === "active" && ![0, before.pid].includes(pid) && text.startsWith("Online"),
      );
    const untilOnline = (): Promise<ServiceState> =>
      untilService("the agent to be online", ({ text }) => text.startsWith("Online"));
    /** Checks that the app runs and is unchanged since its deployment. */
    const expectUntouched = async (): Promise<void> =>
      expect(await appContainer(device, APP)).toMatchObject({ running: true, startedAt });

    test("the package installs without a network, and the service waits for enrolment", async () => {
      await device.copy(packages.now, "/root/edge-agent.deb");
      await device.cutLink();
      const output = await device.succeed("dpkg --install /root/edge-agent.deb");
      await device.restoreLink();
      expect(output).toContain("edge-agent: enrol this device with: sudo edge-agent enroll");
      expect(await device.succeed("edge-agent --version")).toBe(`${VERSION}\n`);
      const owners = await device.succeed(
        "stat -c '%n %a %U:%G' /etc/edge-agent /etc/edge-agent/config.json /var/lib/edge-agent /var/log/edge-agent",
      );
      expect(owners.trim().split("\n")).toEqual([
        "/etc/edge-agent 750 root:edge-agent",
        "/etc/edge-agent/config.json 640 root:edge-agent",
        "/var/lib/edge-agent 700 edge-agent:edge-agent",
        "/var/log/edge-agent 750 edge-agent:edge-agent",
      ]);
      expect(await serviceState(device)).toMatchObject({ activeState: "inactive", restarts: 0 });
      await device.journal("-u edge-agent", "This device is not enrolled yet");
      expect(await device.succeed("systemctl is-enabled edge-agent")).toBe("enabled\n");
      expect((await device.run("edge-agent status")).code).toBe(3);
    });

    test("after enrolment systemd shows the status text that it is online", async () => {
      await device.copy(outside.caFile, "/etc/edge-agent/ca.pem");
      await device.succeed("chmod 644 /etc/edge-agent/ca.pem");
      await device.succeed(`sed -i '1a "extra_ca_file": "/etc/edge-agent/ca.pem",' /etc/edge-agent/config.json`);
      const enroll = `edge-agent enroll --url ${outside.agentUrl} --token-file -`;
      expect(await device.succeed(enroll, `${asset.deviceToken}\n`)).toContain(`as gateway-${suite}`);
      expect((await device.succeed("stat -c '%a %U' /etc/edge-agent/token")).trim()).toBe("600 edge-agent");
      await device.succeed("systemctl restart edge-agent");
      expect(await untilOnline()).toMatchObject({ activeState: "active", text: `Online as gateway-${suite}; no apps` });
    });

    test("an app deployed through the service is reachable at the device's address", async () => {
      const final = await outside.deploy(asset, {
        name: APP,
        image,
        ports: [{ host_port: PORT, target_port: WEB_PORT }],
      });
      expect(final).toMatchObject({ status: "Success" });
      const page = await fetch(`http://${await device.address()}:${PORT}/`);
      expect(await page.text()).toContain("edge-agent test app");
      startedAt = (await appContainer(device, APP))?.startedAt ?? "";
      await untilService("the app in the status", ({ text }) => text === `Online as gateway-${suite}; 1 app`);
    });

    test("status and doctor report no problem, and the journal has no warning", async () => {
      expect(await device.run("edge-agent status")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(new RegExp(`online[^]*${APP} +running`)) as string,
      });
      expect(await device.run("edge-agent doctor")).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/(✓|ok) Device token[^]*(✓|ok) Container engine[^]*Nothing is broken/) as string,
      });
      expect(await device.succeed("journalctl -u edge-agent -p warning --quiet")).toBe("");
    });

    testOnce("a user in the read group has read access only, and one in no group has none", async () => {
      await device.succeed("useradd --groups edge-agent-read looker && useradd stranger");
      const as = (user: string, command: string): ReturnType<Device["run"]> =>
        device.run(`runuser -u ${user} -- edge-agent ${command}`);
      expect(await as("looker", "status")).toMatchObject({ code: 0 });
      expect((await as("looker", `logs ${APP} --lines 5`)).code).toBe(0);
      expect(await as("looker", `stop ${APP}`)).toMatchObject({
        code: 5,
        stderr: expect.stringContaining("This socket is for reading only") as string,
      });
      expect((await as("stranger", "status")).code).toBe(5);
      const sockets = await device.succeed(
        "stat -c '%n %a %U:%G' /run/edge-agent/agent.sock /run/edge-agent/agent-read.sock",
      );
      expect(sockets.trim().split("\n")).toEqual([
        "/run/edge-agent/agent.sock 660 edge-agent:edge-agent",
        "/run/edge-agent/agent-read.sock 660 edge-agent:edge-agent-read",
      ]);
      await device.succeed("userdel looker && userdel stranger");
      await expectUntouched();
    });

    testOnce("the journal shows only problems at -p warning", async () => {
      const absent = `${outside.registryHost}/team/absent:1`;
      expect(await outside.deploy(asset, { name: "absent", image: absent })).toMatchObject({ status: "Fail" });
      const warnings = await device.journal("-u edge-agent -p warning", "What to do:");
      expect(warnings).toContain("absent");
      expect(warnings).not.toContain(APP);
      expect(await device.succeed("journalctl -u edge-agent -o cat")).toContain(APP);
      const ofApp = await device.journal(`EDGE_APP=${APP}`, `App ${APP} is running`);
      expect(ofApp).not.toContain("app=absent");
      await device.journal("EDGE_CODE=ImagePullBackOff", "app=absent");
    });

    testOnce("an app gets an existing device file, and a request for a missing one is refused", async () => {
      await device.succeed("mknod /dev/ttySENSOR c 1 3");
      const spec = { name: "sensor", image, environments: [{ key: "PORT", value: "9000" }] };
      const devices = [{ local: "/dev/ttySENSOR" }];
      expect(await outside.deploy(asset, { ...spec, devices })).toMatchObject({ status: "Success" });
      const absent = [{ local: "/dev/ttyABSENT" }];
      expect(await outside.deploy(asset, { ...spec, name: "other", devices: absent })).toMatchObject({
        status: "Fail",
      });
      await device.succeed("edge-agent remove sensor");
    });

    test("systemd-analyze reports a low exposure, and the unit explains every relaxation", async () => {
      const report = await device.succeed("systemd-analyze security edge-agent.service --no-pager");
      const exposure = Number(/Overall exposure level for edge-agent\.service: ([\d.]+)/.exec(report)?.[1]);
      expect(exposure).toBeLessThanOrEqual(2);
      const unit = await device.succeed("systemctl cat edge-agent");
      const relaxed = [...report.matchAll(/^✗ (\w+)=/gm)].map(([, name = ""]) => name);
      expect(relaxed.length).toBeGreaterThan(3);
      expect(relaxed.filter((name) => !unit.includes(`${name}=`))).toEqual([]);
    });

    test("the service has no capabilities", async () => {
      const { pid } = await serviceState(device);
      const status = await device.succeed(`cat /proc/${pid}/status`);
      expect(status).toMatch(/^CapBnd:\s+0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    });

    testOnce("the idle service uses at most 72 MB of memory", async () => {
      const { pid } = await serviceState(device);
      // Memory of the deployments is released within a minute.
      await waitFor(
        "the service to take at most 72 MB",
        async () => {
          const kilobytes = Number(/^Pss: +(\d+) kB/m.exec(await device.succeed(`cat /proc/${pid}/smaps_rollup`))?.[1]);
          return kilobytes <= 72_000 || Promise.reject(new Error(`${kilobytes} kB`));
        },
        { intervalMs: 1_000 },
      );
    });

    test("a reload applies the log level", async () => {
      await device.succeed(`sed -i '1a "log": {"level": "debug"},' /etc/edge-agent/config.json`);
      await device.succeed("systemctl reload edge-agent");
      await device.until("journalctl -u edge-agent -o cat --quiet | grep -F log_level=debug");
      await untilService("the agent to be ready again", ({ activeState }) => activeState === "active");
    });

    test("systemd restarts the killed agent, and the app keeps running", async () => {
      const before = await serviceState(device);
      await device.succeed(`kill -KILL ${before.pid}`);
      const after = await untilReplaced(before);
      expect(after.restarts).toBe(before.restarts + 1);
      await expectUntouched();
    });

    test("the watchdog restarts the hung agent, and the app keeps running", async () => {
      // The unit's watchdog timeout is a minute; the test shortens it.
      const folder = "/run/systemd/system/edge-agent.service.d";
      await device.succeed(`mkdir -p ${folder} && cat > ${folder}/test.conf`, "[Service]\nWatchdogSec=3\n");
      await device.succeed("systemctl daemon-reload && systemctl restart edge-agent");
      const before = await untilOnline();
      await device.succeed(`kill -STOP ${before.pid}`);
      await untilReplaced(before);
      await device.journal("-u edge-agent", "Watchdog timeout");
      await expectUntouched();
      await device.succeed(`rm -r ${folder} && systemctl daemon-reload`);
    });

    test("the apps run again after a reboot without a network, and the agent is online once the network is back", async () => {
      await device.cutLink();
      await outside.registry.stop();
      await device.reboot();
      const read = `/usr/lib/edge-agent/node -e 'fetch("${URL_OF_APP}").then((r) => r.text()).then(console.log)'`;
      await device.until(`${read} | grep 'edge-agent test app'`);
      expect((await appContainer(device, APP))?.running).toBe(true);
      await untilService("the agent without its link", ({ text }) => /^Offline.*1 app/.test(text));
      expect((await device.run("edge-agent status")).stdout).toMatch(new RegExp(`offline[^]*${APP} +running`));
      await outside.registry.resume();
      await device.restoreLink();
      await waitFor("the agent to be online", untilOnline);
      startedAt = (await appContainer(device, APP))?.startedAt ?? "";
    });

    test("an upgrade keeps configuration and state, and does not change apps", async () => {
      const config = await device.succeed("cat /etc/edge-agent/config.json /etc/edge-agent/token");
      const before = await serviceState(device);
      await device.copy(packages.next, "/root/next.deb");
      await device.succeed("dpkg --install /root/next.deb");
      expect(await device.succeed("dpkg-query --show --showformat '${Version}' edge-agent")).toBe(NEXT_VERSION);
      expect(await device.succeed("cat /etc/edge-agent/config.json /etc/edge-agent/token")).toBe(config);
      const after = await untilReplaced(before);
      expect(after.text).toBe(`Online as gateway-${suite}; 1 app`);
      await expectUntouched();
    });

    test("removing it leaves configuration and apps, and says so", async () => {
      const output = await device.succeed("dpkg --remove edge-agent");
      expect(output).toContain(`${APP} (container ${APP}, running`);
      expect(output).toContain("left in place: /etc/edge-agent");
      await device.succeed("test -e /etc/edge-agent/token -a -e /var/lib/edge-agent/agent.db");
      expect((await device.run("systemctl is-active edge-agent")).stdout).not.toBe("active\n");
      await expectUntouched();
    });

    test("purging it leaves only the apps, and names them", async () => {
      const output = await device.succeed("dpkg --purge edge-agent");
      expect(output).toContain(`${APP} (container ${APP}, running`);
      const left = await device.succeed("find /etc /usr /var/lib /var/log /run -xdev -name '*edge-agent*'");
      expect(left).toBe("");
      expect((await device.run("getent passwd edge-agent")).code).not.toBe(0);
      await expectUntouched();
    });

    test("install.sh installs the same package", async () => {
      await device.copy("packaging/install.sh", "/root/install.sh");
      await device.succeed("sh /root/install.sh /root/edge-agent.deb");
      expect(await device.succeed("edge-agent --version")).toBe(`${VERSION}\n`);
      await device.succeed(`sed -i '1a "extra_ca_file": "/root/ca.pem",' /etc/edge-agent/config.json`);
      const config = await device.succeed("cat /etc/edge-agent/config.json");
      const upgraded = await device.succeed("sh /root/install.sh /root/next.deb");
      expect(upgraded).toContain(`edge-agent ${NEXT_VERSION} is installed`);
      expect(await device.succeed("cat /etc/edge-agent/config.json")).toBe(config);
      expect(await device.succeed("systemctl is-enabled edge-agent")).toBe("enabled\n");
      const purged = await device.succeed("sh /root/install.sh --purge");
      expect(purged).toContain(`${APP} (container ${APP}, running`);
      expect(await device.succeed("find /etc /usr /var/lib /var/log /run -xdev -name '*edge-agent*'")).toBe("");
      await expectUntouched();
    });
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) test("the life of a device", ({ skip }) => skip(missing));
