import { chmod, chown, mkdir, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { findFakeTime } from "../../../scripts/setup/programs.ts";
import { LocalAgent, DEVICE_TOKEN } from "../../support/agent-local/local-agent.ts";
import { freePort } from "../../support/free-port.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { ConnectProxy } from "../../support/link/connect-proxy.ts";
import { ControlPeer, httpAnswer } from "../../support/link/control-peer.ts";
import { fillDisk } from "../../support/fill-disk.ts";
import { SilentServer } from "../../support/link/silent-server.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../support/small-disk.ts";
import { succeed } from "../../support/command.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { waitFor } from "../../support/wait-for.ts";
import { startScriptedEngine } from "../../support/scripted-engine.ts";

interface Diagnosis {
  readonly checks: readonly { id: string; verdict: string; text: string; next?: string }[];
  readonly broken: readonly string[];
}

/** A Docker engine as far as the doctor looks. */
const VERSION = { Version: "20.10.24", ApiVersion: "1.41", Os: "linux", Arch: "amd64" };

const noDisk = await smallDiskUnavailableReason();
const fakeTime = findFakeTime();

const find = ({ checks }: Diagnosis, id: string) => checks.find((check) => check.id === id);

describe("doctor: one layer broken at a time, for real", () => {
  const owned = { current: new AsyncDisposableStack() };
  let device: LocalAgent;

  beforeEach(async () => {
    owned.current = new AsyncDisposableStack();
    podman = undefined;
    device = owned.current.use(await LocalAgent.create());
    const engine = await startScriptedEngine((request, response) => {
      const answer = answerTo(request.url ?? "");
      response.setHeader("Content-Type", "application/json").end(JSON.stringify(answer));
    });
    owned.current.use(engine);
    settings = { engine: { socket: engine.socketPath } };
  });
  afterEach(() => owned.current.disposeAsync());

  let settings: Record<string, unknown>;
  /** Networks of apps in a Podman, and whether it has a name service. */
  let podman: { readonly dns_enabled: boolean; readonly network_interface?: string } | undefined;

  const answerTo = (url: string): unknown => {
    if (url.includes("/libpod/networks/")) return podman;
    if (url.includes("/networks")) return podman ? [{ Name: "edge-agent" }] : [];
    if (!url.includes("/version")) return { DockerRootDir: device.directory };
    return podman ? { ...VERSION, Components: [{ Name: "Podman Engine" }] } : VERSION;
  };

  it.each([
    [true, "good"],
    [false, "warning"],
  ])("a Podman with a name service: %s", async (dns_enabled, verdict) => {
    podman = { dns_enabled };
    await using peer = await ControlPeer.start();
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`);
    expect(find(diagnosis, "names")).toMatchObject({ verdict });
    expect(diagnosis.broken).toEqual([]);
  });

  it.each([
    ["that takes the address of what is attached to it", [], "warning"],
    ["whose changes are announced", ["sysctl", "--quiet", "--write", "net.ipv4.conf.BRIDGE.arp_notify=1"], "good"],
    ["with an address of its own", ["ip", "link", "set", "BRIDGE", "address", "02:00:00:00:00:01"], "good"],
  ])("a bridge of Podman's %s", async (_what, change, verdict) => {
    const bridge = `eat${uniqueName("b").slice(-8)}`;
    await succeed("ip", ["link", "add", bridge, "type", "bridge"]);
    owned.current.defer(async () => void (await succeed("ip", ["link", "delete", bridge])));
    const [command, ...args] = change;
    if (command !== undefined)
      await succeed(
        command,
        args.map((arg) => arg.replace("BRIDGE", bridge)),
      );
    podman = { dns_enabled: true, network_interface: bridge };
    await using peer = await ControlPeer.start();
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`);
    expect(find(diagnosis, "names")).toMatchObject({ verdict });
    if (verdict === "warning") expect(find(diagnosis, "names")?.next).toContain("arp_notify");
  });

  const authority = (name = "ca") => CertificateAuthority.create(device.directory, name);
  const trust = async (ca: CertificateAuthority): Promise<{ extra_ca_file: string }> => {
    const path = join(device.directory, "extra-ca.pem");
    await writeFile(path, ca.cert);
    return { extra_ca_file: path };
  };
  const diagnose = async (url: string, config: Record<string, unknown> = {}, env = {}): Promise<Diagnosis> => {
    await device.configure({ url, config: { ...settings, ...config } });
    return await look(env);
  };
  /** No agent runs in most of these tests, which the doctor says too. */
  const look = async (env = {}): Promise<Diagnosis> => {
    const { checks, broken } = await device.json<Diagnosis>("doctor", env);
    return { checks, broken: broken.filter((id) => id !== "agent") };
  };

  it("nothing broken, over TLS with an authority of its own", async () => {
    const ca = await authority();
    await using peer = await ControlPeer.start({ tls: await ca.issue("IP:127.0.0.1") });
    const diagnosis = await diagnose(`wss://127.0.0.1:${peer.port}/v1/agent`, await trust(ca));
    expect(diagnosis.broken).toEqual([]);
    expect(diagnosis.checks.filter(({ verdict }) => verdict === "skipped")).toEqual([]);
    expect(peer.sessions.every(({ frames }) => frames.length === 0)).toBe(true);
    expect(find(diagnosis, "agent")).toMatchObject({
      verdict: "bad",
      text: expect.stringMatching(/not running/) as string,
    });
    await device.start();
    await waitFor("the agent to be online", async () => (await device.command("status")).code === 0);
    const { code, stdout } = await device.command("doctor");
    expect([code, stdout]).toEqual([0, expect.stringContaining("Nothing is broken.")]);
  });

  it("a name that does not exist", async () => {
    const diagnosis = await diagnose("wss://no-such-host.invalid/v1/agent");
    expect(diagnosis.broken).toEqual(["dns"]);
    expect(find(diagnosis, "tcp")).toMatchObject({
      verdict: "skipped",
      text: expect.stringContaining("Host name") as string,
    });
  });

  it("a closed port", async () => {
    const diagnosis = await diagnose(`ws://127.0.0.1:${await freePort()}/v1/agent`);
    expect(diagnosis.broken).toEqual(["tcp"]);
    expect(find(diagnosis, "tcp")?.text).toMatch(/nothing listens/);
    expect(find(diagnosis, "token")?.verdict).toBe("skipped");
  });

  it("a server that accepts the connection and sends nothing", async () => {
    await using silent = await SilentServer.start();
    const diagnosis = await diagnose(`wss://127.0.0.1:${silent.port}/v1/agent`);
    expect(diagnosis.broken).toEqual(["tls"]);
    expect(find(diagnosis, "tls")?.text).toMatch(/does not answer/);
  });

  it("a certificate of an unknown authority", async () => {
    await using peer = await ControlPeer.start({ tls: await (await authority()).issue("IP:127.0.0.1") });
    const diagnosis = await diagnose(`wss://127.0.0.1:${peer.port}/v1/agent`, await trust(await authority("other")));
    expect(diagnosis.broken).toEqual(["tls"]);
    expect(find(diagnosis, "tls")).toMatchObject({
      text: expect.stringMatching(/Issued .* by ca, valid from/) as string,
      next: expect.stringContaining("extra_ca_file") as string,
    });
  });

  it("a certificate that has expired", async () => {
    const ca = await authority();
    await using peer = await ControlPeer.start({ tls: await ca.issue("IP:127.0.0.1", -1) });
    const diagnosis = await diagnose(`wss://127.0.0.1:${peer.port}/v1/agent`, await trust(ca));
    expect(diagnosis.broken).toEqual(["tls"]);
    expect(find(diagnosis, "tls")?.text).toMatch(/has expired, by this device's clock/);
    expect(find(diagnosis, "tls")?.next).toMatch(/new certificate/);
  });

  it("a certificate for another host", async () => {
    const ca = await authority();
    await using peer = await ControlPeer.start({ tls: await ca.issue("DNS:elsewhere.example") });
    const diagnosis = await diagnose(`wss://127.0.0.1:${peer.port}/v1/agent`, await trust(ca));
    expect(diagnosis.broken).toEqual(["tls"]);
    expect(find(diagnosis, "tls")?.text).toMatch(/for another host name.*elsewhere\.example/);
  });

  it("a server that does not speak TLS", async () => {
    await using peer = await ControlPeer.start();
    const diagnosis = await diagnose(`wss://127.0.0.1:${peer.port}/v1/agent`);
    expect(diagnosis.broken).toEqual(["tls"]);
    expect(find(diagnosis, "tls")?.next).toMatch(/Check the port/);
  });

  it("a token that is refused", async () => {
    await using peer = await ControlPeer.start({ refuse: () => httpAnswer("401 Unauthorized") });
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`);
    expect(diagnosis.broken).toEqual(["token"]);
    expect(find(diagnosis, "token")).toMatchObject({ next: expect.stringContaining("enroll") as string });
    expect(JSON.stringify(diagnosis)).not.toContain(DEVICE_TOKEN);
  });

  it("a proxy that works, one that forbids the connection, one that requires a password, and one that sends nothing", async () => {
    await using peer = await ControlPeer.start();
    await using open = await ConnectProxy.start();
    await using closed = await ConnectProxy.start({ answer: httpAnswer("403 Forbidden") });
    await using guarded = await ConnectProxy.start({ answer: httpAnswer("407 Proxy Authentication Required") });
    await using silent = await ConnectProxy.start({ silent: true });
    const via = (port: number) =>
      diagnose(
        `ws://127.0.0.1:${peer.port}/v1/agent`,
        {},
        { http_proxy: `http://127.0.0.1:${port}`, no_proxy: undefined },
      );
    const working = await via(open.port);
    expect(working.broken).toEqual([]);
    expect(open.targets).toContain(`127.0.0.1:${peer.port}`);
    expect(find(await via(closed.port), "proxy")).toMatchObject({
      verdict: "bad",
      text: expect.stringContaining("forbids") as string,
    });
    expect(find(await via(guarded.port), "proxy")?.next).toMatch(/user name and password/);
    const hanging = await via(silent.port);
    expect(hanging.broken).toEqual(["proxy"]);
    expect(find(hanging, "tls")?.verdict).toBe("skipped");
  });

  it("no engine, and an engine that hangs", async () => {
    await using peer = await ControlPeer.start();
    const url = `ws://127.0.0.1:${peer.port}/v1/agent`;
    const absent = await diagnose(url, { engine: { socket: join(device.directory, "none.sock") } });
    expect(absent.broken).toEqual(["engine"]);
    expect(find(absent, "engine")?.text).toMatch(/socket does not exist/);
    await using hanging = await startScriptedEngine(() => undefined);
    const hung = await diagnose(url, { engine: { socket: hanging.socketPath } });
    expect(hung.broken).toContain("engine");
    expect(find(hung, "engine")?.text).toMatch(/no answer within 5000 ms/i);
  });

  it("an engine that is too old", async () => {
    const version = VERSION.Version;
    VERSION.Version = "19.03.1";
    try {
      const diagnosis = await diagnose(`ws://127.0.0.1:${await freePort()}/v1/agent`);
      expect(find(diagnosis, "engine")).toMatchObject({ verdict: "bad" });
    } finally {
      VERSION.Version = version;
    }
  });

  it("an invalid configuration: checks that need it are skipped, the others are made", async () => {
    await device.configure({ config: { colour: "blue" } });
    const diagnosis = await look();
    expect(diagnosis.broken).toEqual(["config"]);
    expect(find(diagnosis, "config")?.text).toMatch(/colour: unknown field/);
    expect(find(diagnosis, "tcp")?.verdict).toBe("skipped");
    expect(find(diagnosis, "clock")?.verdict).not.toBe("skipped");
    expect(find(diagnosis, "disk")?.verdict).toBe("good");
  });

  it("a damaged store, and a token that everybody can read", async () => {
    await mkdir(device.stateDir, { recursive: true, mode: 0o700 });
    await writeFile(join(device.stateDir, "agent.db"), "this is no database".repeat(100), { mode: 0o600 });
    await using peer = await ControlPeer.start();
    const url = `ws://127.0.0.1:${peer.port}/v1/agent`;
    await device.configure({ url, config: settings });
    await chmod(device.configPath, 0o644);
    const diagnosis = await look();
    expect(diagnosis.broken).toEqual(["permissions", "store"]);
    const everybody = `Other users can read ${device.configPath} (mode 0644).`;
    expect(find(diagnosis, "permissions")?.text).toBe(everybody);
  });

  it("an agent that has crashed during the repair of an app, and not repaired it since", async () => {
    await mkdir(device.stateDir, { recursive: true, mode: 0o700 });
    const work = { name: "repair of web", crashes: 3, powerCuts: 0, began: 0 };
    {
      using store = openSqliteStore({ path: join(device.stateDir, "agent.db"), clock: systemClock, bootId: "b" });
      store.saveLearnedValue("crashes", JSON.stringify({ bootId: "b", isClean: false, works: [work] }));
    }
    await using peer = await ControlPeer.start();
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`);
    expect(find(diagnosis, "crashes")).toMatchObject({
      verdict: "warning",
      text: "The agent crashed 3 times during the repair of web.",
    });
  });

  it("an entry of deny whose path the agent cannot examine", async () => {
    const file = join(device.directory, "file");
    await writeFile(file, "");
    await mkdir(device.stateDir, { recursive: true, mode: 0o700 });
    await using peer = await ControlPeer.start();
    const policy = { mounts: { deny: ["/etc", `${file}/store`] }, devices: { deny: [`${file}/disk`] } };
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`, { policy });
    expect(diagnosis.broken).toEqual([]);
    expect(find(diagnosis, "permissions")).toEqual({
      id: "permissions",
      title: "State, permissions",
      verdict: "warning",
      text: `policy.mounts.deny denies ${file}/store only as written: ${file}/store could not be examined (a part of the path is no directory). And 1 more of this kind.`,
      next: expect.stringContaining(`If ${file}/disk is a link`) as string,
    });
    const { stdout } = await device.command("doctor");
    expect(stdout).toContain("list the path it leads to");
  });

  it.skipIf(process.geteuid?.() !== 0)("what root can see and the service's user cannot, for root", async () => {
    const home = join(device.directory, "home");
    await mkdir(home, { mode: 0o750 });
    await symlink("/srv/elsewhere", join(home, "store"));
    await mkdir(device.stateDir, { recursive: true, mode: 0o700 });
    await chown(device.stateDir, 65_534, 65_534);
    await chmod(device.directory, 0o755);
    await using peer = await ControlPeer.start();
    const deny = [join(home, "store")];
    const lookAgain = async () =>
      find(await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`, { policy: { mounts: { deny } } }), "permissions");
    expect((await lookAgain())?.text).toContain(`${home}/store could not be examined (no permission`);
    await chmod(home, 0o751);
    expect((await lookAgain())?.text).not.toContain("could not be examined");
  });

  it.skipIf(fakeTime === undefined)("a clock that stands in 1970, which certificates are not blamed for", async () => {
    const ca = await authority();
    await using peer = await ControlPeer.start({ tls: await ca.issue("IP:127.0.0.1") });
    const diagnosis = await diagnose(`wss://127.0.0.1:${peer.port}/v1/agent`, await trust(ca), {
      LD_PRELOAD: fakeTime,
      FAKETIME: "@1970-01-01 00:10:00",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      TZ: "UTC",
    });
    expect(diagnosis.broken).toEqual(["clock"]);
    expect(find(diagnosis, "clock")?.text).toContain("1970-01-01 00:1");
    expect(find(diagnosis, "tcp")?.verdict).toBe("good");
    expect(find(diagnosis, "tls")).toMatchObject({
      verdict: "skipped",
      text: expect.stringContaining("Clock") as string,
    });
  });

  it("a state directory that is not reached is not one that does not exist yet", async () => {
    await using peer = await ControlPeer.start();
    const below = join(device.directory, "a-file");
    await writeFile(below, "");
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`, { state_dir: join(below, "state") });
    expect(diagnosis.broken[0]).toBe("permissions");
    expect(find(diagnosis, "permissions")?.text).toContain("cannot be looked into: ENOTDIR");
  });

  it.skipIf(noDisk)("a disk that is full", async () => {
    await using peer = await ControlPeer.start();
    await using disk = await smallDisk(16);
    const stateDir = join(disk.path, "state");
    const where = { state_dir: stateDir };
    await mkdir(stateDir);
    const url = `ws://127.0.0.1:${peer.port}/v1/agent`;
    expect((await diagnose(url, where)).broken).toEqual([]);
    const filler = fillDisk(disk.path);
    const full = await diagnose(url, where);
    expect(full.broken).toEqual(["permissions"]);
    expect(find(full, "permissions")?.text).toBe(`The file system of ${stateDir} is full.`);
    expect(find(full, "disk")?.text).toMatch(/^0 B free at .*state, and 5.00 MB are held in reserve/);
    // As long as the agent can write, its status shows nothing either.
    await truncate(filler, (await stat(filler)).size - 2_000_000);
    const nearlyFull = await diagnose(url, where);
    expect([nearlyFull.broken, find(nearlyFull, "disk")?.verdict]).toEqual([[], "warning"]);
  });

  it("a disk without room for another image", async () => {
    await using peer = await ControlPeer.start();
    const reserve = { deploy: { disk_reserve_bytes: 1e15 } };
    const diagnosis = await diagnose(`ws://127.0.0.1:${peer.port}/v1/agent`, reserve);
    expect(diagnosis.broken).toEqual(["disk"]);
  });
});
