import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LearnedInterval } from "../../../src/agent/link/keepalive-interval.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { captureLog } from "../../support/link/log-capture.ts";
import { ControlPeer } from "../../support/link/control-peer.ts";
import { letTimePass } from "../../support/link/let-time-pass.ts";
import { runUplink } from "../../support/link/running-uplink.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { waitFor } from "../../support/wait-for.ts";

/** Sooner than any keep-alive. */
const SOON_MS = 50_000;

beforeEach(() => {
  vi.stubEnv("no_proxy", "127.0.0.1");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a half-open connection", () => {
  it("is detected and replaced", async () => {
    const clock = new FakeClock();
    await using peer = await ControlPeer.start();
    await using relay = await TcpRelay.to(peer.port);
    await using link = runUplink(
      { url: `ws://127.0.0.1:${relay.port}/`, keepaliveMs: 60_000, pongTimeoutMs: 20_000 },
      { clock },
    );
    const passed = (): number => relay.bytes + peer.handshakes;
    await letTimePass("two keep-alives", clock, {
      until: () => (peer.sessions[0]?.pings ?? 0) >= 2,
      passed,
      maxMs: 180_000,
    });
    expect(link.uplink.status().reconnects).toBe(0);
    relay.silence();
    await letTimePass("the second session", clock, {
      until: () => link.uplink.status().reconnects === 1,
      passed,
      maxMs: 90_000,
    });
    expect(link.uplink.status().lastError?.reason).toMatch(/link was dead/);
  });

  it("is detected by keep-alives that learn the network's idle timeout", async () => {
    await using peer = await ControlPeer.start();
    await using relay = await TcpRelay.to(peer.port);
    const clock = new FakeClock();
    relay.forgetAfter(100_000, clock);
    const learned = new Map<string, string>();
    const store = {
      learnedValue: (name: string) => learned.get(name),
      saveLearnedValue: (name: string, value: string) => void learned.set(name, value),
    };
    const bounds = { startMs: 40_000, minMs: 20_000, maxMs: 300_000 };
    const keepaliveInterval = new LearnedInterval({
      bounds,
      store,
      network: () => "wwan0",
      clock,
      logger: captureLog().logger,
    });
    await using link = runUplink(
      { url: `ws://127.0.0.1:${relay.port}/`, pongTimeoutMs: 20_000 },
      { clock, keepaliveInterval },
    );
    const pings = (): number => peer.sessions.reduce((sum, session) => sum + session.pings, 0);
    const passed = (): number => relay.bytes + peer.handshakes;
    await letTimePass("a loss, then a pause that is survived", clock, {
      until: () =>
        link.uplink.status().reconnects >= 1 &&
        keepaliveInterval.currentMs() < 100_000 &&
        keepaliveInterval.currentMs() >= 60_000,
      passed,
      maxMs: 3_600_000,
    });
    expect([...learned.keys()]).toEqual(["idle wwan0"]);

    const sessions = peer.sessions.length;
    const before = pings();
    await letTimePass("three keep-alives more", clock, { until: () => pings() >= before + 3, passed, maxMs: 600_000 });
    expect(peer.sessions.length).toBeLessThanOrEqual(sessions + 1);
    const again = new LearnedInterval({
      bounds,
      store,
      network: () => "wwan0",
      clock,
      logger: captureLog().logger,
    });
    expect(Math.abs(again.currentMs() - keepaliveInterval.currentMs())).toBeLessThan(1_000);
    const elsewhere = new LearnedInterval({
      bounds,
      store,
      network: () => "eth0/1",
      clock,
      logger: captureLog().logger,
    });
    expect(elsewhere.currentMs()).toBe(40_000);
  });

  it("does not keep the agent from stopping", async () => {
    await using peer = await ControlPeer.start();
    await using relay = await TcpRelay.to(peer.port);
    const link = runUplink({ url: `ws://127.0.0.1:${relay.port}/` });
    await waitFor("the session", () => link.uplink.status().state === "online");
    relay.silence();
    // The closing handshake has 2 s; its timer is the library's own.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const stopped = link.stop();
    await vi.advanceTimersByTimeAsync(2_000);
    vi.useRealTimers();
    await stopped;
    expect(link.uplink.status().state).toBe("stopped");
  });

  // Without a pause before the next attempt, and with the longest one.
  it.each([0, 0.99])("is found out within seconds when an event is not acknowledged (jitter %d)", async (jitter) => {
    const clock = new FakeClock();
    await using peer = await ControlPeer.start();
    await using relay = await TcpRelay.to(peer.port);
    await using link = runUplink({ url: `ws://127.0.0.1:${relay.port}/` }, { clock, random: () => jitter });
    await waitFor("the session", () => link.uplink.status().state === "online");
    relay.silence();
    link.events.add("a", { status: "Success", step: "done" });
    // Not the state "waiting": the pause before the next attempt may be no pause at all, and then that state is over
    // before anybody looks. What the link died of stays.
    await clock.advance(SOON_MS);
    await waitFor("the loss", () => link.uplink.status().lastError?.reason.includes("link was dead"));
    expect(clock.monotonic()).toBe(SOON_MS);
    await waitFor("the event to arrive", async () => {
      await clock.advance(50);
      return link.events.size === 0;
    });
    expect(link.uplink.status()).toMatchObject({ state: "online", reconnects: 1 });
  });
});

describe("an idle link", () => {
  it("transfers only a ping and a pong in ten minutes", async () => {
    const clock = new FakeClock();
    await using peer = await ControlPeer.start();
    await using relay = await TcpRelay.to(peer.port);
    await using link = runUplink({ url: `ws://127.0.0.1:${relay.port}/` }, { clock });
    await waitFor("the session", () => link.uplink.status().state === "online");
    const before = relay.bytes;
    await clock.advance(600_000);
    // RFC 6455: a masked ping of 6 bytes and a pong of 2, both empty.
    await waitFor("the pong", () => relay.bytes - before >= 8);
    await clock.advance(599_000);
    expect(relay.bytes - before).toBe(8);
    expect(link.uplink.status()).toMatchObject({ state: "online", reconnects: 0 });
  });
});
