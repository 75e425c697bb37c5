import { describe, expect, it } from "vitest";
import { UNCOUNTED } from "../../../../src/agent/ledger/ledger.ts";
import { createUplink } from "../../../../src/agent/link/uplink.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { CommandRecorder } from "../../../support/link/command-recorder.ts";
import { captureLog } from "../../../support/link/log-capture.ts";
import { MemoryOutbox } from "../../../support/link/memory-outbox.ts";

/** A link whose every attempt fails with the given error. */
function unreachable(error: unknown) {
  const clock = new FakeClock();
  const attemptsAt: number[] = [];
  const { logger, lines } = captureLog();
  const uplink = createUplink({
    config: {
      url: "ws://localhost",
      token: "ed_planted-0123456789abcdef",
      keepaliveMs: 600_000,
      pongTimeoutMs: 20_000,
      backoff: { baseMs: 1_000, maxMs: 8_000 },
    },
    commands: new CommandRecorder(),
    events: new MemoryOutbox(),
    clock,
    logger,
    traffic: UNCOUNTED,
    agentVersion: "1.2.3",
    connect: () => {
      attemptsAt.push(clock.monotonic());
      return Promise.reject(error);
    },
    random: () => 1 - 2 ** -53,
  });
  return { clock, uplink, attemptsAt, lines };
}

const NO_NETWORK = Object.assign(new Error("connect"), { code: "ENETUNREACH" });
const REFUSED = Object.assign(new Error("connect"), { code: "ECONNREFUSED" });

describe("the uplink", () => {
  it("retries after growing delays, up to the bound", async () => {
    const { clock, uplink, attemptsAt } = unreachable(NO_NETWORK);
    const controller = new AbortController();
    const ended = uplink.run(controller.signal);
    await clock.advance(32_000);
    controller.abort();
    await ended;
    const delays = attemptsAt.slice(1).map((at, index) => Math.ceil((at - (attemptsAt[index] ?? 0)) / 1000));
    expect(delays).toEqual([1, 2, 4, 8, 8, 8]);
  });

  it("reports the error and the time of the next attempt", async () => {
    const { clock, uplink } = unreachable(REFUSED);
    const controller = new AbortController();
    const ended = uplink.run(controller.signal);
    await clock.advance(10);
    expect(uplink.status()).toEqual({
      state: "waiting",
      sinceMs: 0,
      lastError: { reason: "nothing listens at that address and port (connection refused)", atMs: 0 },
      nextTryAtMs: 7_999,
      asset: undefined,
      reconnects: 0,
      frames: { bad: 0, unknown: 0, stray: 0 },
    });
    controller.abort();
    await ended;
    expect(uplink.status()).toMatchObject({ state: "stopped", sinceMs: 10, nextTryAtMs: undefined });
    expect(clock.pending).toBe(0);
  });

  it.each([["a text"], [undefined], [null], [{ code: 5, message: {} }], [new AggregateError([REFUSED])]])(
    "outlives %o thrown on the way out",
    async (thrown) => {
      const { clock, uplink, attemptsAt } = unreachable(thrown);
      const controller = new AbortController();
      const ended = uplink.run(controller.signal);
      await clock.advance(4_000);
      expect(attemptsAt.length).toBeGreaterThan(2);
      expect(uplink.status().lastError?.reason).toBeTruthy();
      controller.abort();
      await ended;
    },
  );

  it("survives a listener that throws, and does not call a disposed one", async () => {
    const { clock, uplink, lines } = unreachable(REFUSED);
    const seen: string[] = [];
    uplink.onStatus(() => {
      throw new Error("listener");
    });
    const listening = uplink.onStatus((status) => seen.push(status.state));
    const controller = new AbortController();
    const ended = uplink.run(controller.signal);
    await clock.advance(10);
    listening[Symbol.dispose]();
    controller.abort();
    await ended;
    expect(seen).toEqual(["connecting", "waiting"]);
    expect(lines.filter((line) => line["level"] === "error")).toHaveLength(3);
  });

  it("makes no attempt with an aborted signal, and can run again", async () => {
    const { clock, uplink, attemptsAt } = unreachable(REFUSED);
    await uplink.run(AbortSignal.abort());
    expect(attemptsAt).toEqual([]);
    const controller = new AbortController();
    const ended = uplink.run(controller.signal);
    await clock.advance(10);
    expect(attemptsAt).toHaveLength(1);
    controller.abort();
    await ended;
  });
});
