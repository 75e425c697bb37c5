import { createServer, type AddressInfo, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RemoteAccess } from "../../../../src/agent/core/policy/remote-access.ts";
import { EngineError } from "../../../../src/agent/engine/engine-error.ts";
import type { Engine } from "../../../../src/agent/engine/engine.ts";
import { DeviceStreams } from "../../../../src/agent/streams/device-streams.ts";
import { type StreamServices, Endings } from "../../../../src/agent/streams/app-stream.ts";
import { LazyStreamServer } from "../../../../src/agent/streams/stream-server.ts";
import { decodeStreamMessage, encodeStreamData } from "../../../../src/protocol/link/stream-data.ts";
import type { DeviceStreamFrame, StreamKind } from "../../../../src/protocol/link/streams.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeContainerAccess } from "../../../support/fake-container-access.ts";
import { captureLog } from "../../../support/link/log-capture.ts";
import { waitFor } from "../../../support/wait-for.ts";

const IDLE_MS = 60_000;

class Rig {
  readonly clock = new FakeClock();
  readonly access = new FakeContainerAccess();
  readonly frames: DeviceStreamFrame[] = [];
  readonly messages: Uint8Array[] = [];
  readonly traffic = { sent: 0, received: 0 };
  readonly log = captureLog();
  readonly endings = new Endings();
  allowed: RemoteAccess = "exec";
  mustYield = false;
  readonly connection = {
    bufferedAmount: 0,
    sendFrame: (frame: DeviceStreamFrame) => void this.frames.push(frame),
    sendData: (message: Uint8Array) => void this.messages.push(message),
  };
  readonly streams: DeviceStreams;

  constructor() {
    const engine = { inspectContainer: async () => ({ id: "c1", status: "running" }) } as unknown as Engine;
    const apps = [{ name: "web", containerId: "c1" }] as unknown as ReturnType<StreamServices["store"]["apps"]>;
    this.streams = new DeviceStreams(this.connection, {
      engine,
      access: this.access,
      store: { apps: () => apps },
      clock: this.clock,
      logger: this.log.logger,
      limits: { idleMs: IDLE_MS, maxStreams: 2, allowed: () => this.allowed },
      endings: this.endings,
      link: {
        pauseAfter: () => 0,
        mustYield: () => this.mustYield,
        traffic: (direction, bytes) => void (this.traffic[direction] += bytes),
      },
    });
  }

  open(id: number, kind: StreamKind, params: unknown, app = "web"): boolean {
    return this.streams.onFrame({ type: "stream_open", stream_id: id, kind, app, params, credit: 1_000, by: "key_1" });
  }

  exec(id: number): boolean {
    return this.open(id, "exec", { command: ["sleep", "planted"] });
  }

  frame<T extends DeviceStreamFrame["type"]>(type: T, id: number): Promise<Extract<DeviceStreamFrame, { type: T }>> {
    const found = () => this.frames.find((frame) => frame.type === type && frame.stream_id === id);
    return waitFor(`${type} of ${id}`, found) as Promise<never>;
  }

  get received(): string {
    const parts = this.messages.map(decodeStreamMessage).flatMap((part) => (part?.kind === "data" ? [part.bytes] : []));
    return Buffer.concat(parts).toString();
  }
}

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.streams[Symbol.dispose]());

describe("what is refused", () => {
  it.each([
    ["off", "forward", "PolicyDenied"],
    ["off", "exec", "PolicyDenied"],
    ["forward", "exec", "PolicyDenied"],
    ["forward", "read", "PolicyDenied"],
    ["forward", "write", "PolicyDenied"],
  ] as const)("with the policy %s: %s", async (allowed, kind, code) => {
    rig.allowed = allowed;
    rig.open(1, kind, { port: 80, command: ["true"], path: "/" });
    expect(await rig.frame("stream_close", 1)).toMatchObject({ code });
    expect(rig.clock.pending).toBe(0);
  });

  it("an app that is not there, and parameters that are not valid", async () => {
    rig.open(1, "forward", { port: 80 }, "other");
    expect(await rig.frame("stream_close", 1)).toMatchObject({ code: "AppNotFound" });
    rig.open(2, "forward", { port: 0 });
    expect(await rig.frame("stream_close", 2)).toMatchObject({ code: "InvalidRequest" });
  });

  it("more streams than configured, and an id in use", async () => {
    rig.exec(1);
    rig.exec(2);
    rig.exec(3);
    expect(await rig.frame("stream_close", 3)).toMatchObject({ code: "TooManyRequests" });
    expect(rig.exec(1)).toBe(false);
  });

  it("data before the stream is open, or without credit", async () => {
    rig.exec(1);
    expect(rig.streams.onData(encodeStreamData(1, 0, new Uint8Array(1)))).toBe(false);
    const { credit } = await rig.frame("stream_opened", 1);
    for (let left = credit; left > 0; left -= 1_024)
      expect(rig.streams.onData(encodeStreamData(1, 0, new Uint8Array(Math.min(left, 1_024))))).toBe(true);
  });
});

it("a stream over which nothing is sent is closed, and no timer stays", async () => {
  rig.exec(1);
  await rig.frame("stream_opened", 1);
  await rig.clock.advance(IDLE_MS - 1);
  rig.streams.onData(encodeStreamData(1, 0, new Uint8Array(1)));
  await rig.clock.advance(IDLE_MS - 1);
  expect(rig.frames.some(({ type }) => type === "stream_close")).toBe(false);
  await rig.clock.advance(1);
  expect(await rig.frame("stream_close", 1)).toMatchObject({ code: "StreamIdle" });
  await waitFor("the command to be killed", () => rig.access.killed === 1);
  await waitFor("no timer", () => rig.clock.pending === 0);
});

it("a policy that forbids it in mid-session closes it with the reason", async () => {
  rig.exec(1);
  await rig.frame("stream_opened", 1);
  rig.allowed = "forward";
  rig.streams.recheckPolicy();
  const { message = "" } = await rig.frame("stream_close", 1);
  expect(message).toContain("policy.remote_access is forward");
  await waitFor("the command to be killed", () => rig.access.killed === 1);
});

it.each([
  [{ isGone: true, left: [] }, undefined],
  [{ isGone: true, left: ["sleep (12)"] }, "processes that began while a command ran go on in the app"],
  [{ isGone: true, left: undefined }, "what a command has started in the app may go on"],
  [{ isGone: false, left: undefined }, "a command goes on in the app"],
])("the log names what goes on in an app after its command: %j", async (end, expected) => {
  rig.access.end = end;
  rig.exec(1);
  await rig.frame("stream_opened", 1);
  rig.streams.onFrame({ type: "stream_close", stream_id: 1, code: undefined });
  await waitFor("the command to be killed", () => rig.endings.size === 0 && rig.access.killed === 1);
  const warnings = rig.log.lines.filter(({ msg }) => /\bgo(es)? on\b/.test(String(msg)));
  expect(warnings.map(({ msg, processes }) => [msg, processes])).toEqual(
    expected === undefined ? [] : [[expect.stringContaining(expected), end.left]],
  );
});

it("a client that closes a stream, and a session that ends, kill commands", async () => {
  rig.exec(1);
  rig.exec(2);
  await rig.frame("stream_opened", 1);
  await rig.frame("stream_opened", 2);
  rig.streams.onFrame({ type: "stream_close", stream_id: 1, code: undefined });
  expect(await rig.frame("stream_close", 1)).toEqual({ type: "stream_close", stream_id: 1 });
  rig.streams[Symbol.dispose]();
  await waitFor("both to be killed", () => rig.access.killed === 2);
  await waitFor("no timer", () => rig.clock.pending === 0);
});

it("the log names who opened what, and no argument of a command", async () => {
  rig.exec(1);
  await rig.frame("stream_opened", 1);
  rig.streams.onFrame({ type: "stream_close", stream_id: 1, code: undefined });
  await rig.frame("stream_close", 1);
  const lines = rig.log.lines.filter(({ msg }) => String(msg).startsWith("remote access"));
  expect(lines).toMatchObject([
    { app: "web", kind: "exec", by: "key_1" },
    { app: "web", kind: "exec", by: "key_1", sent: 1, received: 0 },
  ]);
  expect(JSON.stringify(lines)).not.toContain("planted");
});

const connections = (server: Server): Promise<number> =>
  new Promise((resolve) => void server.getConnections((_error, open) => resolve(open)));

describe("a forwarded connection", () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  const listen = async (isOwn = true): Promise<void> => {
    server = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    rig.access.addresses = [{ host: "127.0.0.1", port, isOwn }];
  };

  it("passes data both ways, ends with both, and is counted", async () => {
    await listen();
    rig.open(1, "forward", { port: 80 });
    await rig.frame("stream_opened", 1);
    rig.streams.onData(encodeStreamData(1, 0, Buffer.from("there and back")));
    await waitFor("the echo", () => rig.received === "there and back");
    rig.streams.onData(encodeStreamData(1, 3, new Uint8Array()));
    expect(await rig.frame("stream_close", 1)).toEqual({ type: "stream_close", stream_id: 1 });
    expect(rig.traffic.sent).toBeGreaterThanOrEqual(14);
    expect(rig.traffic.received).toBeGreaterThanOrEqual(14);
  });

  it("whose app has closed it ends as soon as the client sends more, and not only with the client", async () => {
    server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.end("enough", () => socket.destroy());
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    rig.access.addresses = [{ host: "127.0.0.1", port, isOwn: true }];
    rig.open(1, "forward", { port: 80 });
    await rig.frame("stream_opened", 1);
    await waitFor("the answer", () => rig.received === "enough");
    // The first of it may still be taken by the system.
    await waitFor("the end", () => {
      rig.streams.onData(encodeStreamData(1, 0, Buffer.from("x")));
      return rig.frames.some(({ type }) => type === "stream_close");
    });
    expect(await rig.frame("stream_close", 1)).toEqual({ type: "stream_close", stream_id: 1 });
  });

  it("tries where the port is published if the container's own address does not answer", async () => {
    await listen(false);
    rig.access.addresses = [{ host: "127.0.0.256", port: 1, isOwn: true }, ...rig.access.addresses];
    rig.open(1, "forward", { port: 80 });
    await rig.frame("stream_opened", 1);
  });

  it("is closed unread if what answered may be another, since the container has ended meanwhile", async () => {
    await listen();
    rig.access.laterAddresses = [];
    rig.open(1, "forward", { port: 80 });
    expect(await rig.frame("stream_close", 1)).toMatchObject({ code: "AppNotRunning" });
    expect(rig.frames.some(({ type }) => type === "stream_opened")).toBe(false);
    await waitFor("the connection to be closed", () => connections(server!).then((open) => open === 0));
  });

  it("to a port that nobody listens on, or that cannot be reached, is refused with the reason", async () => {
    await listen();
    await new Promise((resolve) => server?.close(resolve));
    rig.open(1, "forward", { port: 80 });
    expect(await rig.frame("stream_close", 1)).toMatchObject({ code: "AppPortClosed" });
    rig.access.addresses = [];
    rig.open(2, "forward", { port: 80 });
    expect((await rig.frame("stream_close", 2)).message).toContain("does not publish port 80");
  });
});

it("streams that are opened while the code is loaded are served in order", async () => {
  const loading = Promise.withResolvers<void>();
  const server = new LazyStreamServer(
    "exec",
    async () => {
      await loading.promise;
      return rig.streams;
    },
    () => undefined,
  );
  using session = server.begin(rig.connection);
  const open = {
    type: "stream_open",
    kind: "exec",
    app: "web",
    params: { command: ["true"] },
    credit: 1,
    by: "k",
  } as const;
  expect(session.onFrame({ ...open, stream_id: 1 })).toBe(true);
  expect(session.onFrame({ type: "stream_close", stream_id: 1, code: undefined })).toBe(true);
  for (let i = 0; i < 254; i++) session.onData(Uint8Array.of(1));
  expect(session.onData(Uint8Array.of(1))).toBe(false);
  loading.resolve();
  expect(await rig.frame("stream_close", 1)).toEqual({ type: "stream_close", stream_id: 1 });
});

it("refuses all streams if their code cannot be loaded, and says so", async () => {
  const errors: unknown[] = [];
  const server = new LazyStreamServer(
    "exec",
    () => Promise.reject(new Error("no such file")),
    (error) => void errors.push(error),
  );
  using session = server.begin(rig.connection);
  const open = { type: "stream_open", kind: "exec", app: "web", params: {}, credit: 1, by: "k" } as const;
  expect(session.onFrame({ ...open, stream_id: 1 })).toBe(true);
  expect(await rig.frame("stream_close", 1)).toMatchObject({ code: "Internal" });
  expect(session.onFrame({ ...open, stream_id: 2 })).toBe(true);
  expect(await rig.frame("stream_close", 2)).toMatchObject({ code: "Internal" });
  expect(errors).toHaveLength(1);
});

const close = (id: number): boolean => rig.streams.onFrame({ type: "stream_close", stream_id: id, code: undefined });

describe("a command", () => {
  it("that the engine was starting when its stream was closed is killed", async () => {
    const starting = Promise.withResolvers<void>();
    rig.access.starting = starting.promise;
    rig.exec(1);
    await waitFor("the engine to be asked", () => rig.access.execs === 1);
    close(1);
    expect(await rig.frame("stream_close", 1)).toEqual({ type: "stream_close", stream_id: 1 });
    starting.resolve();
    await waitFor("it to be killed", () => rig.access.killed === 1);
  });

  it("counts as a stream until it is killed, so that no more are started than killed", async () => {
    const killing = Promise.withResolvers<void>();
    rig.access.killing = killing.promise;
    for (const id of [1, 2]) {
      rig.exec(id);
      await rig.frame("stream_opened", id);
      close(id);
      await rig.frame("stream_close", id);
    }
    rig.exec(3);
    expect(await rig.frame("stream_close", 3)).toMatchObject({ code: "TooManyRequests" });
    killing.resolve();
    await rig.endings.done();
    rig.exec(4);
    await rig.frame("stream_opened", 4);
  });

  it("gets the size that the terminal had before it was started", async () => {
    const starting = Promise.withResolvers<void>();
    rig.access.starting = starting.promise;
    rig.open(1, "exec", { command: ["sh"], tty: true, columns: 80, rows: 25 });
    rig.streams.onFrame({ type: "stream_resize", stream_id: 1, columns: 132, rows: 43 });
    starting.resolve();
    await waitFor("the size", () => rig.access.sizes.length === 1);
    expect(rig.access.sizes).toEqual([[132, 43]]);
  });

  it("gets one size at a time of many, and the last one", async () => {
    const resizing = Promise.withResolvers<void>();
    rig.access.resizing = resizing.promise;
    rig.open(1, "exec", { command: ["sh"], tty: true });
    await rig.frame("stream_opened", 1);
    for (let i = 1; i <= 1_000; i++) rig.streams.onFrame({ type: "stream_resize", stream_id: 1, columns: i, rows: i });
    expect(rig.access.sizes).toEqual([[1, 1]]);
    resizing.resolve();
    await waitFor("the last size", () => rig.access.sizes.at(-1)?.[0] === 1_000);
    expect(rig.access.sizes).toHaveLength(2);
  });

  it.each([
    ["not_found", "AppNotRunning"],
    ["conflict", "AppNotRunning"],
    ["unavailable", "EngineUnavailable"],
  ] as const)("whose container is gone (%s) ends with a typed error: %s", async (kind, code) => {
    rig.access.exitError = new EngineError(kind, "no such exec instance");
    rig.exec(1);
    await rig.frame("stream_opened", 1);
    rig.access.outputs[0]?.push(null);
    expect(await rig.frame("stream_close", 1)).toMatchObject({ code });
  });

  it("that takes no input costs little memory, however small the pieces are", async () => {
    const taken = Promise.withResolvers<void>();
    rig.access.accepting = taken.promise;
    rig.exec(1);
    const { credit } = await rig.frame("stream_opened", 1);
    const before = process.memoryUsage();
    for (let i = 0; i < credit; i++) rig.streams.onData(encodeStreamData(1, 0, Uint8Array.of(i % 256)));
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(4 * credit + 1_000_000);
    taken.resolve();
    await waitFor("all of it", () => rig.access.inputs.reduce((sum, { length }) => sum + length, 0) === credit);
    expect(rig.access.inputs.length).toBeLessThan(credit / 1_000);
    expect(Buffer.concat(rig.access.inputs).every((byte, i) => byte === i % 256)).toBe(true);
  });
});
