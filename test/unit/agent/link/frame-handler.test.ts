import { EdgeError } from "../../../../src/protocol/errors/errors.ts";
import { describe, expect, it } from "vitest";
import type { AttemptOutcome } from "../../../../src/agent/core/link/link-state.ts";
import {
  type Channel,
  FrameHandler,
  MAX_BAD_FRAMES,
  WELCOME_TIMEOUT_MS,
} from "../../../../src/agent/link/frame-handler.ts";
import { FrameMeter } from "../../../../src/agent/link/frame-meter.ts";
import { type AgentFrame, CLOSE_CODES } from "../../../../src/protocol/link/frames.ts";
import { MAX_FRAME_BYTES } from "../../../../src/protocol/limits.ts";
import { PROTOCOL_VERSION } from "../../../../src/protocol/version.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { CommandRecorder } from "../../../support/link/command-recorder.ts";
import { captureLog } from "../../../support/link/log-capture.ts";
import { MemoryOutbox } from "../../../support/link/memory-outbox.ts";

const WELCOME = {
  type: "welcome",
  protocol: 1,
  session_id: "s-1",
  asset: { uuid: "u-1", serial_number: "SN-1", name: "Gateway" },
};

class FakeChannel implements Channel {
  readonly texts: string[] = [];
  pings = 0;
  end: { readonly code: number | undefined; readonly outcome: AttemptOutcome } | undefined;
  bufferedAmount = 0;
  readonly #unsent: (() => void)[] = [];

  get frames(): AgentFrame[] {
    return this.texts.map((text) => JSON.parse(text) as AgentFrame);
  }

  send(text: string, onSent: () => void): void {
    this.texts.push(text);
    this.#unsent.push(onSent);
  }

  sendBinary(_message: Uint8Array, onSent: () => void): void {
    this.#unsent.push(onSent);
  }

  /** Everything handed over is on its way. */
  drain(): void {
    this.bufferedAmount = 0;
    for (const onSent of this.#unsent.splice(0)) onSent();
  }

  ping(): void {
    this.pings++;
  }

  close(code: number, outcome: AttemptOutcome): void {
    this.end ??= { code, outcome };
  }

  cut(outcome: AttemptOutcome): void {
    this.end ??= { code: undefined, outcome };
  }
}

function begin(prepare: (parts: { commands: CommandRecorder; events: MemoryOutbox }) => void = () => undefined) {
  const clock = new FakeClock();
  const commands = new CommandRecorder();
  const events = new MemoryOutbox();
  const channel = new FakeChannel();
  const { logger, lines } = captureLog();
  const meter = new FrameMeter(clock, logger);
  const welcomes: unknown[] = [];
  prepare({ commands, events });
  const handler = new FrameHandler(
    {
      config: {
        url: "ws://localhost",
        token: "ed_0123456789abcdef",
        keepaliveMs: 600_000,
        pongTimeoutMs: 20_000,
        backoff: { baseMs: 1, maxMs: 1 },
      },
      commands,
      events,
      clock,
      logger,
      agentVersion: "1.2.3",
      meter,
      onWelcome: (welcome) => welcomes.push(welcome),
    },
    channel,
  );
  const receive = (frame: unknown): void => handler.onText(JSON.stringify(frame));
  return { clock, commands, events, channel, lines, meter, welcomes, handler, receive };
}

function online(prepare?: Parameters<typeof begin>[0]) {
  const link = begin(prepare);
  link.receive(WELCOME);
  return link;
}

const sentEvents = (channel: FakeChannel): string[] =>
  channel.frames.flatMap((frame) =>
    frame.type === "event" ? [`${frame.deployment_id}/${frame.event.device_seq}`] : [],
  );

describe("the handshake", () => {
  it("opens with the version and the deployments whose end is not acknowledged", () => {
    const { channel } = begin(({ commands }) => {
      commands.open = ["d-1", "d-2"];
    });
    expect(channel.frames).toEqual([
      {
        type: "hello",
        protocol: PROTOCOL_VERSION,
        agent_version: "1.2.3",
        deployments: [{ deployment_id: "d-1" }, { deployment_id: "d-2" }],
      },
    ]);
  });

  it("times out", async () => {
    const { clock, channel } = begin();
    await clock.advance(WELCOME_TIMEOUT_MS - 1);
    expect(channel.end).toBeUndefined();
    await clock.advance(1);
    expect(channel.end).toMatchObject({ code: undefined, outcome: { kind: "failed" } });
  });

  it("ignores frames before the welcome", () => {
    const { channel, commands, meter, receive, welcomes } = begin();
    receive({ type: "deploy", deployment_id: "early", spec: {} });
    receive({ type: "cancel", deployment_id: "early", reason: "timeout" });
    receive({ type: "event_ack", deployment_id: "early", device_seq: 1 });
    expect([commands.deployed, commands.cancelled, channel.frames.length, meter.counts.bad]).toEqual([[], [], 1, 3]);
    receive(WELCOME);
    expect(welcomes).toHaveLength(1);
    receive(WELCOME);
    expect([welcomes.length, meter.counts.bad]).toEqual([1, 4]);
  });

  it("ends if there is no common protocol version", () => {
    const { channel, receive } = begin();
    receive({ ...WELCOME, protocol: 99 });
    expect(channel.end).toMatchObject({ code: CLOSE_CODES.unsupportedProtocol, outcome: { kind: "unsupported" } });
  });
});

describe("commands", () => {
  it("are acknowledged once stored, before the first event they lead to", () => {
    const { channel, commands, events, receive } = online();
    commands.onDeploy = (id) => void events.add(id);
    receive({ type: "deploy", deployment_id: "d-1", spec: { image: "x" } });
    expect(commands.deployed).toEqual([{ id: "d-1", spec: { image: "x" } }]);
    expect(channel.frames.slice(1).map((frame) => frame.type)).toEqual(["ack", "event"]);
  });

  it("are not acknowledged when they cannot be stored, and the next one is", () => {
    const { channel, commands, lines, receive } = online();
    commands.onDeploy = (id) => {
      if (id === "d-1") throw new Error("disk full");
    };
    receive({ type: "deploy", deployment_id: "d-1", spec: { environments: [{ key: "K", value: "planted" }] } });
    receive({ type: "deploy", deployment_id: "d-2", spec: {} });
    expect(channel.frames.slice(1)).toEqual([{ type: "ack", deployment_id: "d-2" }]);
    expect(lines).toContainEqual(expect.objectContaining({ level: "error", deployment_id: "d-1" }));
    expect(JSON.stringify(lines)).not.toContain("planted");
  });

  it("are refused with the code of an EdgeError", () => {
    const { channel, commands, receive } = online();
    commands.onDeploy = () => {
      throw new EdgeError("InsufficientDisk", "The disk is full.");
    };
    receive({ type: "deploy", deployment_id: "d-1", spec: {} });
    expect(channel.frames.slice(1)).toEqual([
      { type: "refuse", deployment_id: "d-1", code: "InsufficientDisk", message: "The disk is full." },
    ]);
  });

  it("can be cancelled, also with a reason unknown to this agent", () => {
    const { commands, receive } = online();
    receive({ type: "cancel", deployment_id: "d-1", reason: "timeout" });
    receive({ type: "cancel", deployment_id: "d-2", reason: "from the future" });
    expect(commands.cancelled).toEqual([
      { id: "d-1", reason: "timeout" },
      { id: "d-2", reason: "unknown" },
    ]);
  });
});

describe("commands on installed apps", () => {
  it("are passed on and acknowledged like deployments, with the patch as it is", () => {
    const { commands, channel, receive } = online();
    receive({ type: "command", deployment_id: "u-1", action: "update", app: "web", spec: { image: "x" } });
    receive({ type: "command", deployment_id: "s-1", action: "stop", app: "web" });
    expect(commands.changed.map(({ id, request: { action, app, spec } }) => [id, action, app, spec])).toEqual([
      ["u-1", "update", "web", { image: "x" }],
      ["s-1", "stop", "web", undefined],
    ]);
    expect(channel.frames.slice(1)).toEqual([
      { type: "ack", deployment_id: "u-1" },
      { type: "ack", deployment_id: "s-1" },
    ]);
  });
});

describe("events", () => {
  it("are sent in order, stored ones first", () => {
    const { channel, events } = online(({ events }) => {
      events.add("a");
      events.add("b");
    });
    events.add("a");
    expect(sentEvents(channel)).toEqual(["a/1", "b/1", "a/2"]);
  });

  it("wait for acknowledgements when 64 are unacknowledged", () => {
    const { channel, events, receive } = online(({ events }) => {
      for (let i = 0; i < 100; i++) events.add("a");
    });
    expect(sentEvents(channel)).toHaveLength(64);
    receive({ type: "event_ack", deployment_id: "a", device_seq: 10 });
    expect(sentEvents(channel)).toHaveLength(74);
    expect(events.size).toBe(90);
  });

  it("wait for a slow link", () => {
    const { channel, events } = online();
    channel.bufferedAmount = 1_000_000;
    events.add("a");
    events.add("a");
    expect(sentEvents(channel)).toEqual([]);
    channel.drain();
    expect(sentEvents(channel)).toEqual(["a/1", "a/2"]);
  });

  it("are not dropped on an acknowledgement of what was never sent", () => {
    const { events, meter, receive } = online(({ events }) => {
      for (let i = 0; i < 100; i++) events.add("a");
    });
    receive({ type: "event_ack", deployment_id: "a", device_seq: 100 });
    receive({ type: "event_ack", deployment_id: "nobody's", device_seq: 1 });
    expect([events.size, meter.counts.stray, meter.counts.bad]).toEqual([100, 2, 0]);
  });

  it("are sent without details when too large for a frame", () => {
    const { channel, events } = online();
    events.add("a", { status: "Fail", details: { log: "x".repeat(MAX_FRAME_BYTES) } });
    expect(sentEvents(channel)).toEqual(["a/1"]);
    expect(channel.frames.at(-1)).not.toHaveProperty("event.details");
    expect(channel.frames.at(-1)).toHaveProperty("event.status", "Fail");
  });

  it("are sent later when the outbox could not be read at first", async () => {
    const { channel, clock, events, lines } = online();
    const pendingEvents = events.pendingEvents.bind(events);
    events.pendingEvents = () => {
      throw new Error("disk");
    };
    events.add("a", { status: "Success", step: "done" });
    await clock.advance(4_000);
    expect(sentEvents(channel)).toEqual([]);
    events.pendingEvents = pendingEvents;
    await clock.advance(2_000);
    expect(sentEvents(channel)).toEqual(["a/1"]);
    expect(lines).toContainEqual(expect.objectContaining({ level: "error" }));
  });

  it("whose acknowledgement cannot be stored do not block others", () => {
    const { channel, events, receive } = online();
    events.add("a");
    events.acknowledge = () => {
      throw new Error("disk");
    };
    receive({ type: "event_ack", deployment_id: "a", device_seq: 1 });
    events.add("b");
    expect([sentEvents(channel), events.size]).toEqual([["a/1", "b/1"], 2]);
  });

  it("stop with the session", () => {
    const { channel, handler, events, clock } = online();
    handler[Symbol.dispose]();
    events.add("a");
    expect([sentEvents(channel), events.listeners, clock.pending]).toEqual([[], 0, 0]);
  });
});

describe("an idle link", () => {
  it("is probed once in ten minutes", async () => {
    const { channel, clock, handler } = online();
    await clock.advance(599_999);
    expect(channel.pings).toBe(0);
    await clock.advance(1);
    expect(channel.pings).toBe(1);
    handler.onPong();
    await clock.advance(599_000);
    expect([channel.pings, channel.end, channel.texts.length]).toEqual([1, undefined, 1]);
  });

  it("is not probed when something was received meanwhile", async () => {
    const { channel, clock, handler } = online();
    await clock.advance(500_000);
    handler.onPing();
    await clock.advance(500_000);
    expect(channel.pings).toBe(0);
  });

  it("is dead when a probe stays unanswered for 20 s", async () => {
    const { channel, clock } = online();
    await clock.advance(619_999);
    expect(channel.end).toBeUndefined();
    await clock.advance(1);
    expect(channel.end).toMatchObject({ code: undefined, outcome: { kind: "failed" } });
  });

  it("is probed at once after a suspend", async () => {
    const { channel, clock } = online();
    clock.jump(3_600_000);
    await clock.advance(30_000);
    expect(channel.pings).toBe(1);
  });
});

describe("unacknowledged events", () => {
  it("lead to one probe after 30 s, and end the session if it is not answered", async () => {
    const { channel, clock, events } = online();
    await clock.advance(10_000);
    events.add("a");
    await clock.advance(29_999);
    expect(channel.pings).toBe(0);
    await clock.advance(1);
    expect(channel.pings).toBe(1);
    await clock.advance(20_000);
    expect(channel.end).toMatchObject({ outcome: { kind: "failed" } });
  });

  it("do not block others once a probe showed that they arrived", async () => {
    const { channel, clock, handler, events } = online(({ events }) => {
      for (let i = 0; i < 64; i++) events.add("stuck");
    });
    events.add("other");
    expect(sentEvents(channel)).not.toContain("other/1");
    await clock.advance(30_000);
    expect(channel.pings).toBe(1);
    handler.onPong();
    expect(sentEvents(channel)).toContain("other/1");
    expect(events.size).toBe(65);
  });
});

describe("bad frames", () => {
  it("end the session after twenty", () => {
    const { channel, handler, lines, meter } = online();
    for (let i = 1; i < MAX_BAD_FRAMES; i++) handler.onText("{planted");
    expect(channel.end).toBeUndefined();
    handler.onBinary(Uint8Array.of(1));
    expect(channel.end).toMatchObject({ code: CLOSE_CODES.badFrame, outcome: { kind: "failed" } });
    expect(meter.counts.bad).toBe(MAX_BAD_FRAMES);
    expect(lines.filter((line) => line["level"] === "warn")).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain("planted");
  });

  it("are logged once a minute with their number", async () => {
    const { clock, handler, lines } = online();
    for (let i = 0; i < 5; i++) handler.onBinary(Uint8Array.of(1));
    await clock.advance(60_000);
    handler.onBinary(Uint8Array.of(1));
    expect(lines.filter((line) => line["level"] === "warn")).toEqual([
      expect.objectContaining({ count: 1, since_last_line: 1 }),
      expect.objectContaining({ count: 6, since_last_line: 5 }),
    ]);
  });

  it("do not include unknown frames of a newer control plane", () => {
    const { channel, meter, receive } = online();
    for (let i = 0; i < 1_000; i++) receive({ type: "news", planted: true });
    expect([channel.end, meter.counts]).toEqual([undefined, { bad: 0, unknown: 1_000, stray: 0 }]);
  });
});

describe("a goodbye", () => {
  it("sets the reconnect window, and the connection is closed in any case", async () => {
    const { channel, clock, handler, receive } = online();
    receive({ type: "goodbye", reason: "restart", retry_after_s: 12 });
    expect([handler.goodbyeWindowMs, channel.end]).toEqual([12_000, undefined]);
    await clock.advance(20_000);
    expect(channel.end).toMatchObject({
      code: CLOSE_CODES.goingAway,
      outcome: { kind: "restarting", windowMs: 12_000 },
    });
  });

  it("may come instead of a welcome", () => {
    const { handler, receive } = begin();
    receive({ type: "goodbye", reason: "full", retry_after_s: 60 });
    expect(handler.goodbyeWindowMs).toBe(60_000);
  });
});
