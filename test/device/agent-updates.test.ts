import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readSigningKey } from "../../scripts/packaging/release-key.ts";
import { utcDay } from "../../src/lib/terminal/time.ts";
import { VERSION } from "../../src/lib/version.ts";
import type { AgentReleaseList } from "../../src/protocol/agents/agent-release.ts";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import type { DeviceDataUsage } from "../../src/protocol/link/data-usage.ts";
import { succeed } from "../support/command.ts";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage, type Suite } from "../support/device/device-image.ts";
import { appContainer, serviceState } from "../support/device/service.ts";
import { TestBackend } from "../support/device/test-backend.ts";
import { testPackage } from "../support/device/test-package.ts";
import { documented, fill } from "../support/documentation.ts";
import { webImage } from "../support/images.ts";
import type { Asset } from "../support/system/control.ts";
import { tempDir } from "../support/temp-dir.ts";
import { writeTestRelease } from "../support/updates/test-release.ts";
import { waitFor } from "../support/wait-for.ts";

const missing = await devicesUnavailableReason();
const SUITES: readonly Suite[] = ["bookworm", "trixie"];
const APP = "web";
const GOOD = `${VERSION}+good`;
const CRASHING = `${VERSION}+h.crashing`;
const HANGING = `${VERSION}+h.hanging`;
const FOREIGN = `${VERSION}+h.foreign`;
const LAST_WORDS = "the store cannot be opened";
/** Longer than a trial may take. */
const UPDATE_MS = 540_000;
const DAY_S = 24 * 3600;
const RELEASES = "/var/lib/edge-agent-releases";

/* Updates of the agent on a whole device, with systemd and an engine. The tests of a suite run in order on one device. */
describe.skipIf(missing !== undefined)("updates of the agent", () => {
  const shared = new AsyncDisposableStack();
  let engine: DeviceEngine;
  let outside: TestBackend;
  let folder: string;
  let deb: string;
  let image: string;

  beforeAll(async () => {
    engine = shared.use(await startDeviceEngine("updates"));
    outside = shared.use(await TestBackend.start(engine.hostAddress));
    folder = shared.use(await tempDir()).path;
    await succeed("bash", ["-ec", documented("docs/agent-updates.md", "Making and signing a release")], {
      cwd: folder,
    });
    const privateKey = await readSigningKey(join(folder, "release-key.pem"));
    const publicKey = createPublicKey(privateKey);
    deb = await testPackage(folder, { trustedKeys: [publicKey] });
    const signed = { folder, key: privateKey };
    await writeTestRelease({ ...signed, version: GOOD });
    await writeTestRelease({ ...signed, version: CRASHING, script: `echo '${LAST_WORDS}'; exit 1` });
    await writeTestRelease({ ...signed, version: HANGING, script: `echo '${LAST_WORDS}'; exec sleep infinity` });
    const { privateKey: foreign } = generateKeyPairSync("ed25519");
    await writeTestRelease({ folder, key: foreign, version: FOREIGN, script: "exit 1" });
    const signer = join(folder, "signer.pem");
    await writeFile(signer, publicKey.export({ type: "spki", format: "pem" }));
    for (const version of [GOOD, CRASHING])
      await outside.control.administer("agent-release", "add", layoutOf(version), "--key", signer);
    await outside.registry.push(await webImage(), "team/web:1");
    image = `${outside.registryHost}/team/web:1`;
  }, 600_000);
  afterAll(() => shared.disposeAsync());

  const layoutOf = (version: string): string => join(folder, `edge-agent_${version}.oci`);

  /** Bytes of what a device downloads for a release if it has nothing of it. */
  const imageBytes = async (version: string): Promise<number> => {
    const { body } = await outside.api.get("/v1/agent-releases");
    const { agent_releases: served } = body as unknown as AgentReleaseList;
    return served.find((other) => other.version === version)?.images[0]?.bytes ?? 0;
  };

  describe.each(SUITES)("with Debian %s", (suite) => {
    const owned = new AsyncDisposableStack();
    let device: Device;
    let asset: Asset;
    let startedAt: string;

    beforeAll(async () => {
      device = owned.use(
        await Device.start({
          engineSocket: engine.socketPath,
          image: await deviceImage(engine.socketPath, suite),
          insecureRegistries: [outside.registryHost],
        }),
      );
      asset = await outside.asset(`updated-${suite}`);
      await device.copy(deb, "/root/edge-agent.deb");
      await device.succeed("dpkg --install /root/edge-agent.deb");
      await device.copy(outside.caFile, "/etc/edge-agent/ca.pem");
      await device.succeed("chmod 644 /etc/edge-agent/ca.pem");
      await device.succeed(
        `sed -i '1a "extra_ca_file": "/etc/edge-agent/ca.pem", "agent_updates": {"trial_s": 300},' /etc/edge-agent/config.json`,
      );
      await device.succeed(`edge-agent enroll --url ${outside.agentUrl} --token-file -`, `${asset.deviceToken}\n`);
      await device.succeed("systemctl restart edge-agent");
      await untilOnlineFrom("/usr/lib/edge-agent");
      expect(await outside.deploy(asset, { name: APP, image })).toMatchObject({ status: "Success" });
      startedAt = (await appContainer(device, APP))?.startedAt ?? "";
    }, 900_000);
    afterAll(() => owned.disposeAsync());

    const expectUntouched = async (): Promise<void> =>
      expect(await appContainer(device, APP)).toMatchObject({ running: true, startedAt });
    const install = async (version: string, options = ""): ReturnType<Device["run"]> => {
      const layout = `/root/${version}.oci`;
      await device.copy(layoutOf(version), layout);
      return await device.run(`edge-agent releases install ${layout} ${options}`);
    };
    const installAsDocumented = async (): Promise<undefined> => {
      await device.copy(layoutOf(GOOD), `/root/edge-agent_${GOOD}.oci`);
      const commands = fill(documented("docs/agent-updates.md", "Installing a release"), { VERSION: GOOD });
      expect(await device.succeed(`set -e; cd; ${commands}`)).toMatch(/runs on trial[^]*VERSION +STATE/);
    };
    /** Waits for words of the service in the journal, said by the program of a folder. */
    const untilLogged = async (program: string, words: string): Promise<string> =>
      await device.until(`journalctl --quiet -o cat -u edge-agent _EXE=${program}/node | grep -F '${words}'`);
    /** Bytes that the device has counted for updates of the agent. */
    const countedBytes = async (): Promise<number> => {
      const from = utcDay(Date.now() / 1000 - DAY_S);
      const { body } = await outside.api.get(`/v1/assets/${asset.uuid}/edge/data-usage?from=${from}`);
      const { days } = body as unknown as DeviceDataUsage;
      return days.reduce((sum, { by_purpose: by }) => sum + (by.agent?.received_bytes ?? 0), 0);
    };
    /** Waits until the service is online with the program of this folder. The updater gives way to whatever else the machine does. */
    const untilOnlineFrom = async (program: string): Promise<void> =>
      void (await waitFor(
        `the agent of ${program} to be online`,
        async () => {
          const { pid, text } = await serviceState(device);
          const command = (await device.run(`readlink /proc/${pid}/exe`)).stdout.trim();
          return (
            (text.startsWith("Online") && command === `${program}/node`) ||
            Promise.reject(new Error(`${command} ${text}`))
          );
        },
        { timeoutMs: UPDATE_MS, intervalMs: 500 },
      ));
    const journal = (): Promise<string> =>
      device.succeed("journalctl -o cat --quiet -u edge-agent -u edge-agent-update -u edge-agent-trial");

    test("the units are closed, and the updater may do no more than read and write releases", async () => {
      for (const unit of ["edge-agent", "edge-agent-update", "edge-agent-trial"]) {
        const report = await device.succeed(`systemd-analyze security ${unit}.service --no-pager`);
        const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
        expect([unit, exposure <= 2.5, exposure]).toEqual([unit, true, exposure]);
      }
      const denied = await device.run(`setpriv --reuid edge-agent --clear-groups touch ${RELEASES}/x`);
      expect(denied.code).not.toBe(0);
    });

    test("a release of a foreign key is refused, and nothing changes", async () => {
      expect(await install(FOREIGN)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("untrusted_key") as string,
      });
      await untilOnlineFrom("/usr/lib/edge-agent");
      await expectUntouched();
    });

    test("a link in the agent's directory leads root's command nowhere", async () => {
      const folder = "/var/lib/edge-agent/agent-update";
      const before = await device.succeed("stat -c '%U %a' /etc");
      await device.succeed(`rm -rf ${folder} && ln -s /etc ${folder}`);
      expect((await install(FOREIGN)).code).not.toBe(0);
      expect(await device.succeed("stat -c '%U %a' /etc; ls /etc | grep -E '^(layout|request)' || true")).toBe(before);
      await device.succeed(`rm ${folder}`);
    });

    test("a good release runs on trial, confirms itself, and survives a reboot", async () => {
      using update =
        suite === "trixie" ? await installAsDocumented() : await outside.updateAgent(asset, { version: GOOD });
      await untilOnlineFrom(`${RELEASES}/${GOOD}`);
      expect(await device.succeed("edge-agent status")).toContain(`${GOOD} is on trial: start 1 of 3`);
      await expectUntouched();
      await device.until(`[ "$(readlink ${RELEASES}/current)" = ${GOOD} ] && [ ! -e ${RELEASES}/trial ]`);
      await device.until("! systemctl is-active --quiet edge-agent-trial.timer");
      expect(await device.succeed("edge-agent releases")).toMatch(/\+good +runs, confirmed/);
      expect(await device.succeed("edge-agent doctor")).toContain("Nothing is broken");
      await expectUntouched();
      if (update) {
        expect(await update.event("the end of the update", isFinal, UPDATE_MS)).toMatchObject({
          status: "Success",
          step: "done",
          details: { version: GOOD },
        });
        // By the new version itself.
        await untilLogged(`${RELEASES}/${GOOD}`, `The agent is ${GOOD} now`);
        const [bytes, counted] = [await imageBytes(GOOD), await countedBytes()];
        // The program and the documents of the release, but not Node.js, which the package has brought.
        expect([counted > 100_000, counted < 1_500_000, bytes > 20_000_000]).toEqual([true, true, true]);
      }
      await device.reboot();
      await untilOnlineFrom(`${RELEASES}/${GOOD}`);
      startedAt = (await appContainer(device, APP))?.startedAt ?? "";
    });

    test("a release that crashes is set aside after three starts, and the one before says so, with its apps untouched", async () => {
      using update = await outside.updateAgent(asset, { version: CRASHING });
      const end = await update.event("the end of the update", isFinal, UPDATE_MS);
      expect(end).toMatchObject({
        status: "Fail",
        code: "AgentUpdateFailed",
        details: { version: CRASHING, reason: "crashed", logs: expect.arrayContaining([LAST_WORDS]) as string[] },
      });
      // Its own words and how it ended, not each start and stop by systemd.
      expect(end.details?.["logs"]).toContainEqual(expect.stringContaining("status=1/FAILURE"));
      expect(end.details?.["logs"]).not.toContainEqual(expect.stringMatching(/^Starting |Scheduled restart/));
      await untilLogged(`${RELEASES}/${GOOD}`, `Release ${CRASHING} did not work`);
      await untilOnlineFrom(`${RELEASES}/${GOOD}`);
      expect(await device.succeed("edge-agent releases")).toMatch(/h\.crashing +set aside: it ended 3 times/);
      expect((await journal()).match(/\(crashed\)/g)).toHaveLength(1);
      await expectUntouched();
      expect(await install(CRASHING)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("set_aside") as string,
      });
      await expectUntouched();
    });

    test("a release that hangs before it is ready is ended by the timer, and the pin of a person holds meanwhile", async () => {
      await device.succeed(`sed -i 's/"trial_s": 300/"trial_s": 30/' /etc/edge-agent/config.json`);
      expect(await install(HANGING)).toMatchObject({ code: 0 });
      await device.until(`grep -q unconfirmed ${RELEASES}/set-aside/${HANGING}`);
      // The closed unit of the timer has kept them where the agent reads them.
      await device.until(
        `setpriv --reuid edge-agent --regid edge-agent --clear-groups grep -qx '${LAST_WORDS}' ${RELEASES}/log/${HANGING}`,
      );
      await untilOnlineFrom(`${RELEASES}/${GOOD}`);
      await expectUntouched();
      const [pinPackage = "", pinVersion = "", unpin = ""] = documented(
        "docs/agent-updates.md",
        "What runs, and choosing it",
      ).split("\n");
      await device.succeed(pinPackage);
      await untilOnlineFrom("/usr/lib/edge-agent");
      await device.succeed(fill(pinVersion, { "1.4.0": GOOD }));
      await untilOnlineFrom(`${RELEASES}/${GOOD}`);
      await device.succeed(unpin);
      await untilOnlineFrom(`${RELEASES}/${GOOD}`);
      await expectUntouched();
    });

    test("a purge removes the releases too", async () => {
      await device.succeed("dpkg --purge edge-agent");
      expect(await device.succeed("find /etc /usr /var/lib /var/log /run -xdev -name '*edge-agent*'")).toBe("");
      await expectUntouched();
    });
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) test("updates of the agent", ({ skip }) => skip(missing));
