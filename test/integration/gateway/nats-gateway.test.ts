import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import type { DeviceStream } from "../../../src/control-plane/devices/session.ts";
import { MAX_STREAM_CHUNK_BYTES, STREAM_CHANNELS } from "../../../src/protocol/link/stream-data.ts";
import { MAX_STREAM_CREDIT } from "../../../src/protocol/link/streams.ts";
import { ASSET, type TwoInstances, twoInstances } from "../../contract/gateway/harness.ts";
import { NatsRig } from "../../support/bus/nats-rig.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import type { SeenStream } from "../../support/gateway/fake-session.ts";
import { RecordedQuery, RecordedStream } from "../../support/gateway/recorded-sink.ts";
import { TcpRelay } from "../../support/link/tcp-relay.ts";
import { waitFor } from "../../support/wait-for.ts";

const FORWARD = { kind: "forward", app: "web", params: { port: 80 }, credit: MAX_STREAM_CREDIT, by: "key_1" } as const;

interface Rig extends AsyncDisposable {
  readonly server: NatsServer;
  readonly asking: NatsRig;
  readonly holding: NatsRig;
  readonly instances: TwoInstances;
  /** Cuts the asking instance off the server. */
  readonly relay: TcpRelay;
}

async function start(): Promise<Rig> {
  await using owner = new AsyncDisposableStack();
  const server = owner.use(await NatsServer.start());
  const relay = owner.use(await TcpRelay.to(server.port));
  const asking = owner.use(new NatsRig({ ...server.options(), urls: [`nats://127.0.0.1:${relay.port}`] }));
  const holding = owner.use(new NatsRig(server.options()));
  await asking.reach("up");
  await holding.reach("up");
  const instances = owner.use(twoInstances([asking.link, holding.link], new AsyncDisposableStack()));
  const parts = owner.move();
  return { server, asking, holding, instances, relay, [Symbol.asyncDispose]: () => parts.disposeAsync() };
}

async function asked({ instances: { gateway, session } }: Rig, count: number) {
  const sink = new RecordedQuery();
  const query = gateway.query(ASSET, "logs", { app: "web", follow: true }, sink);
  return { sink, query, seen: await waitFor("the query", () => session.queries[count - 1]) };
}

test("a server that is killed ends open questions; after its return devices are asked again", async () => {
  await using rig = await start();
  const first = await asked(rig, 1);
  await rig.server.stop();
  await waitFor("the end", () => first.sink.ends.length > 0 && first.seen.isCancelled);
  expect(first.sink.codes).toEqual(["ServiceUnavailable"]);
  await rig.asking.reach("down");
  const refused = new RecordedQuery();
  rig.instances.gateway.query(ASSET, "device", {}, refused);
  await waitFor("the refusal", () => refused.ends.length > 0);
  expect(refused.codes).toEqual(["ServiceUnavailable"]);
  await rig.server.restart();
  await rig.asking.reach("up");
  await rig.holding.reach("up");
  const second = await asked(rig, 2);
  await second.seen.sink.answer({ lines: [] });
  await waitFor("an answer", () => second.sink.answers.length > 0);
  second.query[Symbol.dispose]();
  await rig.instances.idle();
});

test("an instance that is cut off alone: its questions end, and the holder cancels them on the device", async () => {
  await using rig = await start();
  const { sink, seen } = await asked(rig, 1);
  rig.relay.sever();
  await waitFor("the end here", () => sink.ends.length > 0);
  expect(sink.codes).toEqual(["ServiceUnavailable"]);
  // By its silence.
  await waitFor("the cancellation", () => seen.isCancelled);
  expect(rig.holding.link.state).toBe("up");
  rig.relay.restore();
  await rig.asking.reach("up");
  await rig.instances.idle();
});

test("streams in both directions at once come as they were sent, many at a time", async () => {
  await using rig = await start();
  const { gateway, session } = rig.instances;
  const streams = 16;
  const data = randomBytes(512 * 1024);
  const sinks = Array.from({ length: streams }, () => new RecordedStream());
  const opened = sinks.map((sink) => gateway.openStream(ASSET, FORWARD, sink));
  await waitFor("all streams", () => session.streams.length === streams);
  for (const { sink } of session.streams) sink.opened({ credit: MAX_STREAM_CREDIT });
  await waitFor("all open", () => sinks.every(({ facts }) => facts.length > 0));
  const pairs = opened.map((stream, index) => new Transfer(stream, session.streams[index], sinks[index], data));
  await waitFor("all data", () => pairs.map((pair) => pair.advance()).every(Boolean), { intervalMs: 1 });
  for (const [index, sink] of sinks.entries()) {
    expect(Buffer.concat(sink.received.map(({ bytes }) => bytes)).equals(data)).toBe(true);
    const up = session.streams[index]?.data.map(({ bytes }) => bytes) ?? [];
    expect(Buffer.concat(up).equals(data)).toBe(true);
  }
  for (const stream of opened) stream[Symbol.dispose]();
  await waitFor("all closed", () => session.streams.every(({ isClosed }) => isClosed));
  await rig.instances.idle();
});

/** A transfer in both directions, each within the credit of its receiver. */
class Transfer {
  readonly #stream: DeviceStream;
  readonly #device: SeenStream;
  readonly #client: RecordedStream;
  readonly #data: Uint8Array;
  #up = 0;
  #down = 0;
  #credited = { up: 0, down: 0 };

  constructor(
    stream: DeviceStream,
    device: SeenStream | undefined,
    client: RecordedStream | undefined,
    data: Uint8Array,
  ) {
    if (!device || !client) throw new Error("no such stream");
    this.#stream = stream;
    this.#device = device;
    this.#client = client;
    this.#data = data;
  }

  /** Sends what the credit allows. Returns whether all has arrived. */
  advance(): boolean {
    const arrived = { up: sum(this.#device.data), down: this.#client.bytes };
    this.#credit(arrived);
    while (this.#up < this.#data.length && this.#up - arrived.up < MAX_STREAM_CREDIT / 2) {
      const bytes = this.#chunk(this.#up);
      if (!this.#stream.send(STREAM_CHANNELS.data, bytes)) throw new Error("no credit");
      this.#up += bytes.length;
    }
    while (this.#down < this.#data.length && this.#down - arrived.down < MAX_STREAM_CREDIT / 2) {
      const bytes = this.#chunk(this.#down);
      this.#device.sink.data(STREAM_CHANNELS.data, bytes);
      this.#down += bytes.length;
    }
    return arrived.up === this.#data.length && arrived.down === this.#data.length;
  }

  #credit(arrived: { readonly up: number; readonly down: number }): void {
    const { up, down } = this.#credited;
    if (arrived.up > up) this.#device.sink.credit(arrived.up - up);
    if (arrived.down > down && !this.#stream.credit(arrived.down - down)) throw new Error("too much credit");
    this.#credited = arrived;
  }

  #chunk(from: number): Uint8Array {
    return this.#data.subarray(from, from + MAX_STREAM_CHUNK_BYTES);
  }
}

function sum(parts: readonly { readonly bytes: Uint8Array }[]): number {
  return parts.reduce((total, { bytes }) => total + bytes.length, 0);
}
