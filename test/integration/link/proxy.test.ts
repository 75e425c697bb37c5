import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OPEN_TIMEOUT_MS } from "../../../src/agent/link/session.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { freePort } from "../../support/free-port.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { ConnectProxy } from "../../support/link/connect-proxy.ts";
import { ControlPeer, httpAnswer } from "../../support/link/control-peer.ts";
import { runUplink, type RunningUplink } from "../../support/link/running-uplink.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const VARIABLES = ["http_proxy", "https_proxy", "all_proxy", "no_proxy"];
const SLOW_BACKOFF = { baseMs: 60_000, maxMs: 60_000 };

beforeEach(() => {
  for (const name of VARIABLES) {
    vi.stubEnv(name, "");
    vi.stubEnv(name.toUpperCase(), "");
  }
});
afterEach(() => {
  vi.unstubAllEnvs();
});

const address = (proxy: ConnectProxy): string => `127.0.0.1:${proxy.port}`;
const online = (link: RunningUplink) => waitFor("the session", () => link.uplink.status().state === "online");
const lastReason = (link: RunningUplink) => waitFor("an error", () => link.uplink.status().lastError?.reason);

describe("a proxy from the environment", () => {
  it.each([
    ["with a scheme", (proxy: ConnectProxy) => `http://${address(proxy)}`],
    ["without a scheme", address],
  ])("%s is used", async (_, value) => {
    await using proxy = await ConnectProxy.start();
    await using peer = await ControlPeer.start();
    vi.stubEnv("http_proxy", value(proxy));
    await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/` });
    await online(link);
    expect(proxy.targets).toEqual([`127.0.0.1:${peer.port}`]);
  });

  it("carries TLS from end to end, and its password reaches no log and no status", async () => {
    await using dir = await tempDir();
    const authority = await CertificateAuthority.create(dir.path, "ca");
    await using proxy = await ConnectProxy.start();
    await using peer = await ControlPeer.start({ tls: await authority.issue("IP:127.0.0.1") });
    vi.stubEnv("HTTPS_PROXY", `http://user:planted-password@${address(proxy)}`);
    await using link = runUplink({ url: `wss://127.0.0.1:${peer.port}/`, extraCa: authority.cert });
    await online(link);
    expect(proxy.credentials).toEqual([`Basic ${Buffer.from("user:planted-password").toString("base64")}`]);
    (await peer.session(0)).socket.terminate();
    await lastReason(link);
    expect(JSON.stringify([link.lines, link.uplink.status()])).not.toContain("planted");
  });

  it("does not weaken the check of the certificate's host name", async () => {
    await using dir = await tempDir();
    const authority = await CertificateAuthority.create(dir.path, "ca");
    await using proxy = await ConnectProxy.start();
    await using peer = await ControlPeer.start({ tls: await authority.issue("DNS:localhost") });
    vi.stubEnv("https_proxy", `http://${address(proxy)}`);
    await using link = runUplink({
      url: `wss://127.0.0.1:${peer.port}/`,
      extraCa: authority.cert,
      backoff: SLOW_BACKOFF,
    });
    expect(await lastReason(link)).toMatch(/another host name/);
    expect(peer.handshakes).toBe(0);
  });

  it("is not used for hosts in no_proxy", async () => {
    await using proxy = await ConnectProxy.start();
    await using peer = await ControlPeer.start();
    vi.stubEnv("http_proxy", `http://${address(proxy)}`);
    vi.stubEnv("no_proxy", "example.net,127.0.0.1");
    await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/` });
    await online(link);
    expect(proxy.targets).toEqual([]);
  });

  it.each([
    ["407 Proxy Authentication Required", /the proxy wants a user name and password/],
    ["403 Forbidden", /the proxy forbids/],
    ["502 Bad Gateway", /the proxy could not make the connection/],
  ])("that responds with %s is distinguished from a refused token", async (status, reason) => {
    await using proxy = await ConnectProxy.start({ answer: httpAnswer(status) });
    vi.stubEnv("http_proxy", `http://user:planted-password@${address(proxy)}`);
    await using link = runUplink({ url: "ws://127.0.0.1:9/", backoff: SLOW_BACKOFF });
    expect(await lastReason(link)).toMatch(reason);
    expect(link.lines).toContainEqual(expect.objectContaining({ level: "warn" }));
    expect(JSON.stringify([link.lines, link.uplink.status()])).not.toContain("planted");
  });

  it("that sends nothing times out, and its connection is closed", async () => {
    const clock = new FakeClock();
    await using proxy = await ConnectProxy.start({ silent: true });
    vi.stubEnv("http_proxy", `http://${address(proxy)}`);
    await using link = runUplink({ url: "ws://127.0.0.1:9/", backoff: SLOW_BACKOFF }, { clock });
    await waitFor("the request", () => proxy.targets.length === 1);
    await clock.advance(OPEN_TIMEOUT_MS);
    expect(await lastReason(link)).toBe(
      `no connection within the time allowed (through the proxy 127.0.0.1:${proxy.port})`,
    );
    await waitFor("no connection left", () => proxy.connections === 0);
  });

  it("that cannot be reached is named", async () => {
    const port = await freePort();
    vi.stubEnv("all_proxy", `http://user:planted-password@127.0.0.1:${port}`);
    await using link = runUplink({ url: "ws://127.0.0.1:9/", backoff: SLOW_BACKOFF });
    expect(await lastReason(link)).toBe(
      `nothing listens at that address and port (connection refused) (through the proxy 127.0.0.1:${port})`,
    );
  });

  it.each([
    ["socks5://user:planted-password@127.0.0.1:1080", /kind socks5: is not supported/],
    ["http://user:planted-password@host:port:port", /not an address/],
  ])("that is not supported is reported without its password: %s", async (value, reason) => {
    vi.stubEnv("all_proxy", value);
    await using link = runUplink({ url: "ws://127.0.0.1:9/", backoff: SLOW_BACKOFF });
    expect(await lastReason(link)).toMatch(reason);
    expect(JSON.stringify([link.lines, link.uplink.status()])).not.toContain("planted");
  });
});
