import { appendFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type ServerOptions } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findFakeTime } from "../../scripts/setup/programs.ts";
import { brokenDevices } from "../support/device/broken-devices.ts";
import { type BrokenDevice, CONTROL_NAME, KEEP, MEND } from "../support/device/device-faults.ts";
import { Device } from "../support/device/device.ts";
import { type DeviceEngine, devicesUnavailableReason, startDeviceEngine } from "../support/device/device-engine.ts";
import { deviceImage } from "../support/device/device-image.ts";
import { TestBackend } from "../support/device/test-backend.ts";
import { testPackage } from "../support/device/test-package.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { CertificateAuthority } from "../support/link/certificates.ts";
import { ConnectProxy } from "../support/link/connect-proxy.ts";
import { httpAnswer } from "../support/link/control-peer.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";
import type { Asset } from "../support/system/control.ts";

const missing =
  (await devicesUnavailableReason()) ?? (findFakeTime() === undefined ? "faketime is not installed" : undefined);
/** File to which what the doctor prints on each device is appended. */
const TRANSCRIPT = process.env["DOCTOR_TRANSCRIPT"];

interface Diagnosis {
  readonly checks: readonly { id: string; title: string; verdict: string; text: string; next?: string }[];
  readonly broken: readonly string[];
}

/*
 * One device, broken in each way of a list and mended again. The doctor's first failing line has to name the fault and
 * what to do, and the status must not contradict it.
 */
describe.skipIf(missing !== undefined)("doctor, on devices that are broken", () => {
  const owned = new AsyncDisposableStack();
  let engine: DeviceEngine;
  let device: Device;
  let outside: TestBackend;
  let asset: Asset;
  const devices = new Map<string, BrokenDevice>();

  const listening = async (server: Server, host: string): Promise<number> => {
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    owned.defer(() => new Promise((resolve) => server.close(() => resolve())));
    return (server.address() as AddressInfo).port;
  };

  beforeAll(async () => {
    engine = owned.use(await startDeviceEngine("doctor"));
    const host = engine.hostAddress;
    outside = owned.use(await TestBackend.start(host, CONTROL_NAME));
    const { path } = owned.use(await tempDir());
    const [file, image] = await Promise.all([testPackage(path), deviceImage(engine.socketPath, "bookworm")]);
    device = owned.use(
      await Device.start({ engineSocket: engine.socketPath, image, insecureRegistries: [outside.registryHost] }),
    );
    await device.copy(file, "/root/edge-agent.deb");
    await device.copy(findFakeTime() ?? "", "/usr/lib/faketime.so");
    await device.copy(outside.caFile, "/etc/ca.pem");
    asset = await outside.asset("gateway");
    await device.succeed(`dpkg --install /root/edge-agent.deb && echo '${host} ${CONTROL_NAME}' >> /etc/hosts`);
    await device.succeed("cp /etc/ca.pem /etc/edge-agent/ca.pem && chmod 644 /etc/edge-agent/ca.pem");
    await device.succeed(`sed -i '1a "extra_ca_file": "/etc/edge-agent/ca.pem",' /etc/edge-agent/config.json`);
    await device.succeed(`edge-agent enroll --url ${outside.agentUrl} --token-file -`, `${asset.deviceToken}\n`);
    await device.succeed(`mkdir /srv/data; ${KEEP}`);
    await device.succeed(MEND);
    await outside.registry.push(await webImage(), "team/web:1");
    const spec = {
      name: "app",
      image: `${outside.registryHost}/team/web:1`,
      volumes: [{ local: "/srv/data", target: "/data" }],
    };
    await untilHealthy();
    const deployed = await outside.deploy(asset, { ...spec, ports: [{ host_port: 30_080, target_port: WEB_PORT }] });
    expect(deployed).toMatchObject({ status: "Success" });
    const around = await startOutside(path, host);
    for (const one of brokenDevices(around)) devices.set(one.name, one);
  }, 600_000);
  afterAll(() => owned.disposeAsync());

  const startOutside = async (folder: string, host: string) => {
    const [ca, other] = [
      await CertificateAuthority.create(folder, "site"),
      await CertificateAuthority.create(folder, "x"),
    ];
    await device.succeed("cat >> /etc/edge-agent/ca.pem", ca.cert);
    await device.succeed("cp -a /etc/edge-agent/ca.pem /root/good/ca.pem");
    const secure = (options: ServerOptions): Promise<number> =>
      listening(
        createServer(options, (_request, response) => response.writeHead(404).end()),
        host,
      );
    const portal = createHttpServer((_request, response) =>
      response.writeHead(302, { Location: "http://login.portal.test/" }).end(),
    );
    const proxy = owned.use(await ConnectProxy.start({ host }));
    const forbidding = owned.use(await ConnectProxy.start({ host, answer: httpAnswer("403 Forbidden") }));
    return {
      host,
      proxy: proxy.port,
      forbiddingProxy: forbidding.port,
      portal: await listening(portal, host),
      expired: await secure(await ca.issue(`IP:${host}`, -1)),
      otherHost: await secure(await ca.issue("DNS:elsewhere.test")),
      unknownAuthority: await secure(await other.issue(`IP:${host}`)),
    };
  };
  const untilHealthy = (): Promise<unknown> => waitFor("a healthy device", () => device.succeed("edge-agent status"));

  test.for(brokenDevices({} as never).map(({ name }) => name))("%s", async (name) => {
    const broken = devices.get(name);
    if (!broken) throw new Error("there is no such device");
    await device.run(broken.break);
    if (broken.isKept !== true) await device.run("systemctl restart edge-agent");
    try {
      if (broken.id === undefined) await untilHealthy();
      await expectDiagnosis(broken);
    } finally {
      await device.run(`${broken.mend ?? ""}\n${MEND}`);
      await untilHealthy();
    }
  });

  const expectDiagnosis = async ({ name, id, text, next, warns, env = "" }: BrokenDevice): Promise<void> => {
    // A service that ends at each start is for a moment one that starts.
    const { diagnosis, code } = await waitFor(`the diagnosis of: ${name}`, async () => {
      const { stdout, code } = await device.run(`${env} edge-agent doctor --json`);
      const found = { diagnosis: JSON.parse(stdout) as Diagnosis, code };
      return found.diagnosis.broken[0] === id && found;
    });
    const printed = await device.run(`${env} edge-agent doctor`);
    // The status says that something is wrong if the doctor does, and only then.
    const status = await waitFor(`the same from the status of: ${name}`, async () => {
      const found = await device.run("edge-agent status");
      return (found.code === 0) === (id === undefined) && found;
    });
    if (TRANSCRIPT !== undefined)
      appendFileSync(
        TRANSCRIPT,
        `== ${name}\n$ edge-agent doctor\n${printed.stdout}$ edge-agent status\n${status.stdout}\n`,
      );
    const find = (wanted: string | undefined) => diagnosis.checks.find((check) => check.id === wanted);
    expect(code).toBe(id === undefined ? 0 : 1);
    expect(printed.stdout).not.toContain("The check itself failed");
    if (id !== undefined) {
      expect(find(id)?.text).toMatch(text ?? /./);
      expect(find(id)?.next).toMatch(next ?? /./);
      const first = printed.stdout.split("\n").find((line) => /^\s*!/.test(line));
      expect(first).toContain(find(id)?.title);
      expect(printed.stdout).not.toContain("Nothing is broken");
    }
    if (warns)
      expect(find(warns[0])).toMatchObject({ verdict: "warning", text: expect.stringMatching(warns[1]) as string });
  };
});
