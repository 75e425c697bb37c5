import { describe, expect, it } from "vitest";
import type { DeviceQuery, DeviceReporting, HealthSource } from "../../../../src/agent/link/ports.ts";
import { FrameHandler } from "../../../../src/agent/link/frame-handler.ts";
import { FrameMeter } from "../../../../src/agent/link/frame-meter.ts";
import type { ReportDelta } from "../../../../src/protocol/apps/app-report.ts";
import { EdgeError } from "../../../../src/protocol/errors/errors.ts";
import type { AgentFrame } from "../../../../src/protocol/link/frames.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { CommandRecorder } from "../../../support/link/command-recorder.ts";
import { captureLog } from "../../../support/link/log-capture.ts";
import { MemoryOutbox } from "../../../support/link/memory-outbox.ts";

type Answer = (query: DeviceQuery) => Promise<string | undefined>;

/** A report that a test changes at will. */
class Reports {
  current: string | undefined;
  held: number | undefined;
  readonly listeners = new Set<() => void>();

  since(hash: string | undefined): ReportDelta | undefined {
    if (this.current === undefined || this.current === hash) return undefined;
    return { base: hash ?? null, hash: this.current, apps: [], removed_apps: [] };
  }

  outdatedForS(): number | undefined {
    return this.held;
  }

  onReport(listener: () => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  change(hash: string): void {
    this.current = hash;
    this.held = undefined;
    for (const listener of this.listeners) listener();
  }

  hold(seconds: number | undefined): void {
    this.held = seconds;
    for (const listener of this.listeners) listener();
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

function begin(
  answer: Answer = async () => undefined,
  welcome: object = {},
  prepare: (reports: Reports) => void = () => undefined,
  more: Pick<DeviceReporting, "health" | "clockWatch"> = {},
) {
  const clock = new FakeClock();
  const { logger } = captureLog();
  const reports = new Reports();
  prepare(reports);
  const unsent: (() => void)[] = [];
  const frames: AgentFrame[] = [];
  const binary: Uint8Array[] = [];
  let open = true;
  const channel = {
    bufferedAmount: 0,
    send(text: string, onSent: () => void) {
      frames.push(JSON.parse(text) as AgentFrame);
      if (open) onSent();
      else unsent.push(onSent);
    },
    sendBinary: (message: Uint8Array) => void binary.push(message),
    ping: () => undefined,
    close: () => undefined,
    cut: () => undefined,
  };
  const reporting: DeviceReporting = { queries: { handle: answer }, reports, ...more };
  const config = { url: "ws://localhost", token: "ed_0123456789abcdef", keepaliveMs: 600_000, pongTimeoutMs: 20_000 };
  const events = new MemoryOutbox();
  const handler = new FrameHandler(
    {
      config: { ...config, backoff: { baseMs: 1, maxMs: 1 } },
      commands: new CommandRecorder(),
      events,
      reporting,
      clock,
      logger,
      agentVersion: "1.2.3",
      meter: new FrameMeter(clock, logger),
      onWelcome: () => undefined,
    },
    channel,
  );
  const receive = (frame: unknown): void => handler.onText(JSON.stringify(frame));
  const asset = { uuid: "u-1", serial_number: "SN-1", name: "Gateway" };
  receive({ type: "welcome", protocol: 1, session_id: "s-1", asset, ...welcome });
  return {
    handler,
    events,
    frames,
    binary,
    clock,
    receive,
    reports,
    settle,
    ofType: (type: string) => frames.filter((frame) => frame.type === type),
    /** The line takes nothing more, until released. */
    block() {
      open = false;
      return () => {
        open = true;
        for (const onSent of unsent.splice(0)) onSent();
      };
    },
  };
}

const ask = (query_id: string, what = "device", params: unknown = {}) => ({ type: "query", query_id, what, params });

describe("queries over a session", () => {
  it("get any number of answers and one end", async () => {
    const link = begin(async ({ what, params, send }) => {
      await send({ what, params, number: 1 });
      await send({ number: 2 });
      return "that was all";
    });
    link.receive(ask("q1", "logs", { app: "web" }));
    await link.settle();
    expect(link.frames.slice(1)).toEqual([
      { type: "answer", query_id: "q1", body: { what: "logs", params: { app: "web" }, number: 1 } },
      { type: "answer", query_id: "q1", body: { number: 2 } },
      { type: "query_end", query_id: "q1", message: "that was all" },
    ]);
  });

  it("end with the code of an EdgeError, and with Internal for other errors", async () => {
    const link = begin(async ({ what }) => {
      throw what === "app" ? new EdgeError("AppNotFound", "There is none.") : new Error("secret detail");
    });
    link.receive(ask("q1", "app"));
    link.receive(ask("q2"));
    await link.settle();
    expect(link.ofType("query_end")).toEqual([
      { type: "query_end", query_id: "q1", code: "AppNotFound", message: "There is none." },
      { type: "query_end", query_id: "q2", code: "Internal", message: expect.not.stringContaining("secret") as string },
    ]);
  });

  it("are refused beyond sixteen at a time", async () => {
    const link = begin(
      ({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    for (let i = 0; i < 20; i++) link.receive(ask(`q${i}`));
    await link.settle();
    expect(link.ofType("query_end")).toMatchObject(
      [16, 17, 18, 19].map((i) => ({ query_id: `q${i}`, code: "TooManyRequests" })),
    );
    link.receive({ type: "query_cancel", query_id: "q3" });
    await link.settle();
    link.receive(ask("q20"));
    await link.settle();
    expect(link.ofType("query_end")).toHaveLength(4);
  });

  it.each(["cancelled", "over"])("end without a word when %s, and what answers them ends too", async (how) => {
    let ended = 0;
    const link = begin(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      ended++;
      throw signal.reason as Error;
    });
    link.receive(ask("q1"));
    await link.settle();
    if (how === "over") link.handler[Symbol.dispose]();
    else link.receive({ type: "query_cancel", query_id: "q1" });
    await link.settle();
    expect(ended).toBe(1);
    expect(link.frames.slice(1)).toEqual([]);
  });

  it("end with Internal when an answer is too large", async () => {
    const link = begin(async ({ send }) => {
      await send("x".repeat(1024 * 1024));
      return undefined;
    });
    link.receive(ask("q1"));
    await link.settle();
    expect(link.frames.slice(1)).toMatchObject([{ type: "query_end", code: "Internal" }]);
  });

  it("have one frame in transit at a time, so that events of deployments overtake", async () => {
    const link = begin(async ({ send }) => {
      for (let i = 0; i < 50; i++) await send({ i });
      return undefined;
    });
    const release = link.block();
    link.receive(ask("q1"));
    link.receive(ask("q2"));
    await link.settle();
    expect(link.ofType("answer")).toHaveLength(1);
    link.events.add("d1");
    expect(link.frames.at(-1)).toMatchObject({ type: "event" });
    release();
    await link.settle();
    await link.settle();
    expect(link.ofType("answer")).toHaveLength(100);
  });
});

describe("the report over a session", () => {
  it("is not sent if the control plane has it", async () => {
    const link = begin(undefined, { report_hash: "h1" });
    link.reports.change("h1");
    await link.settle();
    expect(link.ofType("report")).toEqual([]);
  });

  it("is sent as differences to the previous one", async () => {
    const link = begin(undefined, { report_hash: "h1" });
    link.reports.change("h2");
    await link.settle();
    const release = link.block();
    link.reports.change("h3");
    link.reports.change("h4");
    link.reports.change("h5");
    await link.settle();
    release();
    await link.settle();
    expect(link.ofType("report")).toMatchObject([
      { base: "h1", hash: "h2" },
      { base: "h2", hash: "h3" },
      { base: "h3", hash: "h5" },
    ]);
  });

  it("is sent complete if the control plane has none, and not after the session", async () => {
    const link = begin();
    link.reports.change("h1");
    await link.settle();
    expect(link.ofType("report")).toMatchObject([{ base: null, hash: "h1" }]);
    link.handler[Symbol.dispose]();
    link.reports.change("h2");
    await link.settle();
    expect(link.ofType("report")).toHaveLength(1);
    expect(link.reports.listeners.size).toBe(0);
  });

  it("that is held back is announced once, and again in the next session", async () => {
    const link = begin(undefined, { report_hash: "h1" });
    link.reports.change("h1");
    link.reports.hold(7);
    link.reports.hold(8);
    await link.settle();
    expect(link.ofType("report_held")).toEqual([{ type: "report_held", since_s: 7 }]);
    link.reports.change("h2");
    await link.settle();
    // The report says that nothing is held back any more.
    expect(link.frames.at(-1)).toMatchObject({ type: "report", hash: "h2" });
    link.reports.hold(1);
    await link.settle();
    link.reports.hold(undefined);
    await link.settle();
    expect(link.ofType("report_held").slice(1)).toEqual([
      { type: "report_held", since_s: 1 },
      { type: "report_held", since_s: null },
    ]);
  });

  it("that is held back during sending is announced after what is being sent", async () => {
    const link = begin(undefined, { report_hash: "h1" });
    const release = link.block();
    link.reports.change("h2");
    await link.settle();
    link.reports.hold(3);
    await link.settle();
    release();
    await link.settle();
    expect(link.frames.slice(-2)).toMatchObject([{ hash: "h2" }, { type: "report_held", since_s: 3 }]);
  });

  it("that was held back before the session is announced at its start", async () => {
    const link = begin(undefined, { report_hash: "h1" }, (reports) => {
      reports.current = "h1";
      reports.held = 90;
    });
    await link.settle();
    expect(link.ofType("report_held")).toEqual([{ type: "report_held", since_s: 90 }]);
  });
});

/** Due after an hour; each message is the number that it follows. */
const source = (taken: (number | undefined)[], said: unknown[] = []): HealthSource => ({
  begin: (confirmedAt, thresholds) => void said.push([confirmedAt, thresholds]),
  setThresholds: (thresholds) => void said.push(thresholds),
  due: { earliestMs: 3_600_000, latestMs: 4_500_000 },
  take(afterAt) {
    taken.push(afterAt);
    return { bytes: Uint8Array.of(4, taken.length), newestAt: 1_000 + taken.length };
  },
  onEarly: () => ({ [Symbol.dispose]: () => undefined }),
});

describe("how the device was", () => {
  it("is sent from the row on that the control plane has, beside what else arrives, and not after the session", async () => {
    const taken: (number | undefined)[] = [];
    const link = begin(undefined, { health_at: 900 }, undefined, { health: source(taken) });
    link.receive(ask("q1"));
    expect(taken).toEqual([]);
    await link.clock.advance(3_600_000);
    link.receive(ask("q2"));
    link.handler.onPing();
    link.handler.onPong();
    expect(taken).toEqual([900, 1_001, 1_002]);
    expect(link.binary).toEqual([Uint8Array.of(4, 1), Uint8Array.of(4, 2), Uint8Array.of(4, 3)]);
    link.handler[Symbol.dispose]();
    await link.clock.advance(9_000_000);
    expect(taken).toHaveLength(3);
  });

  it("is sent on a silent link, too, and from the beginning where the control plane has nothing", async () => {
    const taken: (number | undefined)[] = [];
    const health = source(taken);
    const once: HealthSource = {
      get due() {
        return taken.length === 0 ? health.due : { earliestMs: Infinity, latestMs: 1e12 };
      },
      take: (afterAt, writer) => health.take(afterAt, writer),
      onEarly: (listener) => health.onEarly(listener),
      begin: () => undefined,
      setThresholds: () => undefined,
    };
    const link = begin(undefined, {}, undefined, { health: once });
    await link.clock.advance(4_499_999);
    expect(taken).toEqual([]);
    await link.clock.advance(1);
    expect(taken).toEqual([undefined]);
    expect(link.binary).toHaveLength(1);
  });

  it("is told at once by the thresholds of the control plane; one that no device may have leaves the default", () => {
    const said: unknown[] = [];
    const thresholds = { temperature_celsius: [[95, 900]], cpu_percent: [[5, 0, 0]], humidity_percent: [[9, 9]] };
    const link = begin(undefined, { health_at: 900, health_thresholds: thresholds }, undefined, {
      health: source([], said),
    });
    expect(said).toEqual([[900, { temperature_celsius: [[95, 900]] }]]);
    const bad = [[1.5, 900], [95, -1], [95, 1e9], ["95", 900], [1e9, 900], 95, null];
    for (const one of bad) link.receive({ type: "health_thresholds", thresholds: { temperature_celsius: [one] } });
    link.receive({
      type: "health_thresholds",
      thresholds: { temperature_celsius: Array.from({ length: 5 }, () => [95, 900]) },
    });
    expect(said.slice(1)).toEqual(Array.from({ length: 8 }, () => ({})));
    link.receive({ type: "health_thresholds", thresholds: { disk_percent: [] } });
    link.receive({ type: "health_thresholds" });
    expect(said.slice(9)).toEqual([{ disk_percent: [] }, undefined]);
  });
});

it("tells the clock watch the time of the service, if that says it, and since when it was asked", () => {
  const told: number[][] = [];
  let elapsed = 7;
  const clockWatch = { elapsed: () => elapsed++, onServiceTime: (...time: number[]) => void told.push(time) };
  begin(undefined, { time: 1_800_000_000 }, undefined, { clockWatch });
  begin(undefined, {}, undefined, { clockWatch });
  expect(told).toEqual([[1_800_000_000, 7]]);
});
