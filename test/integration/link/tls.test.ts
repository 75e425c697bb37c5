import type { TLSSocket } from "node:tls";
import { afterEach, beforeAll, afterAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { TrafficFollower, TrafficSource } from "../../../src/agent/ledger/ledger.ts";
import { CertificateAuthority } from "../../support/link/certificates.ts";
import { ControlPeer } from "../../support/link/control-peer.ts";
import { runUplink } from "../../support/link/running-uplink.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const SLOW_BACKOFF = { baseMs: 60_000, maxMs: 60_000 };
let dir: Awaited<ReturnType<typeof tempDir>>;
let authority: CertificateAuthority;

beforeAll(async () => {
  dir = await tempDir();
  authority = await CertificateAuthority.create(dir.path, "authority");
});
afterAll(() => dir[Symbol.asyncDispose]());
beforeEach(() => {
  vi.stubEnv("no_proxy", "127.0.0.1");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function reasonWith(extraCa: string | undefined, certificate = authority.issue("IP:127.0.0.1")): Promise<string> {
  await using peer = await ControlPeer.start({ tls: await certificate });
  await using link = runUplink({ url: `wss://127.0.0.1:${peer.port}/`, extraCa, backoff: SLOW_BACKOFF });
  const reason = await waitFor("an error", () => link.uplink.status().lastError?.reason);
  expect(peer.handshakes).toBe(0);
  return reason;
}

describe("a control plane with a certificate", () => {
  it("of the configured authority is trusted, also where the file holds several", async () => {
    const other = await CertificateAuthority.create(dir.path, "other");
    await using peer = await ControlPeer.start({ tls: await authority.issue("IP:127.0.0.1") });
    await using link = runUplink({
      url: `wss://127.0.0.1:${peer.port}/`,
      extraCa: `# ours\n${other.cert}\n${authority.cert}`,
    });
    await waitFor("the session", () => link.uplink.status().state === "online");
  });

  it("sends it only once over successive sessions", async () => {
    await using peer = await ControlPeer.start({ tls: await authority.issue("IP:127.0.0.1") });
    await using relay = await TcpRelay.to(peer.port);
    await using link = runUplink({ url: `wss://127.0.0.1:${relay.port}/`, extraCa: authority.cert });
    const first = await peer.session(0);
    await waitFor("the session", () => link.uplink.status().state === "online");
    const resumed = [(first.request.socket as TLSSocket).isSessionReused()];
    const cost = relay.bytes;
    first.socket.terminate();
    const second = await peer.session(1);
    await waitFor("the second session", () => link.uplink.status().reconnects === 1);
    resumed.push((second.request.socket as TLSSocket).isSessionReused());
    expect(resumed).toEqual([false, true]);
    // Headers of TCP and IP come on top, and a certificate of more than one key length is not spared here.
    expect(relay.bytes - cost).toBeLessThan(1_900);
  });

  it("has its traffic counted including TLS, over several sessions", async () => {
    await using peer = await ControlPeer.start({ tls: await authority.issue("IP:127.0.0.1") });
    await using relay = await TcpRelay.to(peer.port);
    const sources: TrafficSource[] = [];
    const traffic: TrafficFollower = {
      follow: (source) => {
        sources.push(source);
        return { [Symbol.dispose]: () => undefined };
      },
    };
    const config = { url: `wss://127.0.0.1:${relay.port}/`, extraCa: authority.cert };
    await using link = runUplink(config, { traffic });
    const first = await peer.session(0);
    // A session that ends before its welcome does not count as the first one.
    await waitFor("the session", () => link.uplink.status().state === "online");
    first.socket.terminate();
    await waitFor("the second session", () => link.uplink.status().reconnects === 1);
    const counted = (): number => sources.reduce((sum, source) => sum + source().sent + source().received, 0);
    // What was on its way when the first one was cut, one side counts alone.
    await waitFor("both to agree", () => Math.abs(counted() - relay.bytes) < 150 && relay.bytes > 3_000);
    expect(sources).toHaveLength(2);
    expect(sources[1]?.().messages).toBeGreaterThanOrEqual(2);
  });

  it("of an unknown authority is not trusted", async () => {
    expect(await reasonWith(undefined)).toMatch(/cannot be verified.*extra_ca_file/);
  });

  it("of another authority than the configured one is not trusted", async () => {
    const stranger = await CertificateAuthority.create(dir.path, "stranger");
    expect(await reasonWith(stranger.cert)).toMatch(/extra_ca_file/);
  });

  it("that has expired is reported with the device's clock", async () => {
    const expired = authority.issue("IP:127.0.0.1", -1);
    expect(await reasonWith(authority.cert, expired)).toMatch(/has expired, by this device's clock \(20\d\d-/);
  });

  it("for another host name is reported as such", async () => {
    expect(await reasonWith(authority.cert, authority.issue("DNS:control.example"))).toMatch(/another host name/);
  });
});

describe("an extra_ca_file", () => {
  it.each([
    ["without a certificate", "hello", /holds no certificate/],
    [
      "with a broken one",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      /certificate number 1 of extra_ca_file cannot be read/,
    ],
  ])("%s is reported as the cause", async (_, pem, reason) => {
    expect(await reasonWith(pem)).toMatch(reason);
  });
});

it("a server that does not speak TLS is reported as such", async () => {
  await using peer = await ControlPeer.start();
  await using link = runUplink({ url: `wss://127.0.0.1:${peer.port}/`, backoff: SLOW_BACKOFF });
  expect(await waitFor("an error", () => link.uplink.status().lastError?.reason)).toMatch(/does not speak TLS/);
});
