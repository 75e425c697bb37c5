import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fixedInterval, LearnedInterval } from "../../../src/agent/link/keepalive-interval.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { ControlPeer } from "../../support/link/control-peer.ts";
import { letTimePass } from "../../support/link/let-time-pass.ts";
import { captureLog } from "../../support/link/log-capture.ts";
import { runUplink } from "../../support/link/running-uplink.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { waitFor } from "../../support/wait-for.ts";

beforeEach(() => void vi.stubEnv("no_proxy", "127.0.0.1"));
afterEach(() => void vi.unstubAllEnvs());

const NOTHING_STORED = { learnedValue: () => undefined, saveLearnedValue: () => {} };

test("a proxy that closes idle connections after a minute teaches keep-alives that keep them, and the log says the price", async () => {
  await using peer = await ControlPeer.start();
  await using relay = await TcpRelay.to(peer.port);
  const clock = new FakeClock();
  relay.closeAfter(60_000, clock);
  const { logger, lines } = captureLog();
  const bounds = { startMs: 600_000, minMs: 10_000, maxMs: 1_800_000 };
  const keepaliveInterval = new LearnedInterval({
    bounds,
    store: NOTHING_STORED,
    network: () => "eth0",
    clock,
    logger,
  });
  await using _link = runUplink({ url: `ws://127.0.0.1:${relay.port}/` }, { clock, keepaliveInterval });
  const passed = (): number => relay.bytes + peer.handshakes;
  await letTimePass("a shorter interval", clock, {
    until: () => keepaliveInterval.currentMs() < 60_000,
    passed,
    maxMs: 36_000_000,
  });
  const pings = (): number => peer.sessions.reduce((sum, session) => sum + session.pings, 0);
  const [before, sessions] = [pings(), peer.sessions.length];
  await letTimePass("keep-alives", clock, { until: () => pings() >= before + 6, passed, maxMs: 3_600_000 });
  expect(peer.sessions.length).toBeLessThanOrEqual(sessions + 2);
  const said = lines.find(({ msg }) => String(msg).startsWith("this network drops idle connections"));
  expect(said).toMatchObject({ network: "eth0", msg: expect.stringContaining("is reduced") as string });
  // As measured: a ping with its pong, and a connection without TLS.
  expect(said?.["keepalives_bytes_per_day"]).toBeLessThan(said?.["reconnects_bytes_per_day"] as number);
});

test.each([
  ["a connection that was cut", 1, (peer: ControlPeer) => peer.sessions[0]?.socket.terminate()],
  ["a close of somebody in between", 1, (peer: ControlPeer) => peer.sessions[0]?.socket.close(1000)],
  ["a close of the service", 0, (peer: ControlPeer) => peer.sessions[0]?.socket.close(1012)],
  [
    "a service that is restarted",
    0,
    (peer: ControlPeer) => {
      peer.sessions[0]?.send({ type: "goodbye", reason: "restart", retry_after_s: 0 });
      setTimeout(() => peer.sessions[0]?.socket.terminate(), 50);
    },
  ],
])("%s teaches %i times", async (_what, times, close) => {
  await using peer = await ControlPeer.start();
  let closed = 0;
  const keepaliveInterval = { ...fixedInterval(600_000), onClosed: () => void closed++ };
  await using link = runUplink({ url: `ws://127.0.0.1:${peer.port}/` }, { keepaliveInterval });
  await waitFor("the session", () => link.uplink.status().state === "online");
  close(peer);
  await waitFor("the next session", () => link.uplink.status().reconnects === 1);
  expect(closed).toBe(times);
});
