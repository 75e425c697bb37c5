import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ArrivalCounter, CreditPool, type ReceiveCredit } from "../../../src/lib/stream-receiver.ts";
import { StreamSender } from "../../../src/lib/stream-sender.ts";
import { decodeStreamMessage, STREAM_CHANNELS } from "../../../src/protocol/link/stream-data.ts";
import { MAX_STREAM_CREDIT } from "../../../src/protocol/link/streams.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { SimulatedLink } from "../../support/simulated-link.ts";

const KIB = 1024;
const MIB = KIB * KIB;

/** A sender and the receiver of its streams at both ends of a simulated link. */
class Rig {
  readonly clock = new FakeClock();
  readonly there: SimulatedLink;
  readonly back: SimulatedLink;
  readonly sender: StreamSender;
  readonly received = new Map<number, number>();
  readonly stalled = new Set<number>();
  readonly #credits = new Map<number, ReceiveCredit>();
  readonly #pool = new CreditPool(4 * MIB, 16);
  mustYield = false;
  mayNotArrive: string | undefined;

  constructor(bytesPerSecond: number, delayMs: number) {
    this.there = new SimulatedLink(this.clock, bytesPerSecond, delayMs, () => this.sender.flush());
    this.back = new SimulatedLink(this.clock, bytesPerSecond, delayMs);
    const { there } = this;
    const arrivals = new ArrivalCounter({
      bufferedAmount: 0,
      send: (message) =>
        this.back.send(message.length, () => {
          const decoded = decodeStreamMessage(message);
          if (decoded?.kind !== "arrived" || !this.sender.arrived(decoded.total)) this.mayNotArrive = "confirmation";
        }),
    });
    this.sender = new StreamSender(
      {
        get bufferedAmount() {
          return there.bufferedAmount;
        },
        send: (message) => there.send(message.length, () => this.#receive(message, arrivals)),
      },
      this.clock,
      () => this.mustYield,
    );
  }

  open(streamId: number): void {
    const credit = this.#pool.open();
    this.#credits.set(streamId, credit);
    this.sender.add(streamId, credit.first);
  }

  /** Writes as a source that waits for each part to be sent. */
  async pour(streamId: number, bytes: number): Promise<void> {
    const part = new Uint8Array(64 * KIB);
    for (let rest = bytes; rest > 0; rest -= part.length) {
      if (!(await this.sender.write(streamId, STREAM_CHANNELS.data, part.subarray(0, Math.min(rest, part.length))))) {
        return;
      }
    }
  }

  #receive(message: Uint8Array, arrivals: ArrivalCounter): void {
    const decoded = decodeStreamMessage(message);
    if (decoded?.kind !== "data") throw new Error("not data");
    const { streamId, bytes } = decoded;
    arrivals.add(decoded);
    const credit = this.#credits.get(streamId);
    if (!credit?.receive(bytes.length)) this.mayNotArrive = `data of ${streamId} without credit`;
    this.received.set(streamId, (this.received.get(streamId) ?? 0) + bytes.length);
    if (this.stalled.has(streamId)) return;
    const grant = credit?.take(bytes.length) ?? 0;
    if (grant > 0) this.back.send(60, () => this.sender.grant(streamId, grant, MAX_STREAM_CREDIT));
  }
}

describe("the share of the link that one stream gets", () => {
  it.each([
    { rate: 50_000, delayMs: 150 },
    { rate: 50_000, delayMs: 20 },
    { rate: 10_000, delayMs: 300 },
    { rate: 1_000_000, delayMs: 50 },
    { rate: 4_000_000, delayMs: 20 },
  ])("$rate B/s with $delayMs ms each way: at least 0.9", async ({ rate, delayMs }) => {
    const rig = new Rig(rate, delayMs);
    rig.open(1);
    void rig.pour(1, 1_000 * MIB);
    await rig.clock.advance(5_000);
    const before = rig.received.get(1) ?? 0;
    await rig.clock.advance(20_000);
    const share = ((rig.received.get(1) ?? 0) - before) / 20 / rate;
    expect(share).toBeGreaterThan(0.9);
    expect(rig.mayNotArrive).toBeUndefined();
  });
});

describe("what is sent beside streams", () => {
  it.each([
    { rate: 50_000, delayMs: 150, streams: 1 },
    { rate: 50_000, delayMs: 150, streams: 16 },
    { rate: 1_000_000, delayMs: 50, streams: 6 },
  ])("waits at most for a window: $rate B/s, $delayMs ms, $streams streams", async ({ rate, delayMs, streams }) => {
    const rig = new Rig(rate, delayMs);
    for (let id = 1; id <= streams; id++) {
      rig.open(id);
      void rig.pour(id, 100 * MIB);
    }
    const waits: number[] = [];
    for (let round = 0; round < 40; round++) {
      await rig.clock.advance(487);
      const at = rig.clock.monotonic();
      rig.there.send(200, () => waits.push(rig.clock.monotonic() - at - delayMs));
    }
    await rig.clock.advance(10_000);
    expect(waits).toHaveLength(40);
    const carriedInRoundTrip = Math.max(16 * KIB, 1.25 * 1.25 * rate * ((2 * delayMs + 100) / 1000));
    expect(Math.max(...waits)).toBeLessThan((carriedInRoundTrip / rate) * 1000);
  });
});

it("sends little while something more important is under way, and goes on at full rate after it", async () => {
  const rig = new Rig(50_000, 50);
  rig.open(1);
  rig.mustYield = true;
  void rig.pour(1, 100 * MIB);
  const waits: number[] = [];
  for (let round = 0; round < 20; round++) {
    await rig.clock.advance(487);
    const at = rig.clock.monotonic();
    rig.there.send(200, () => waits.push(rig.clock.monotonic() - at - 50));
  }
  expect(Math.max(...waits)).toBeLessThan(50);
  rig.mustYield = false;
  await rig.clock.advance(10_000);
  const before = rig.received.get(1) ?? 0;
  await rig.clock.advance(10_000);
  expect(((rig.received.get(1) ?? 0) - before) / 10 / 50_000).toBeGreaterThan(0.9);
});

it("small messages that were not confirmed yet do not stop the streams once little may be sent", async () => {
  const rig = new Rig(4_000_000, 20);
  rig.open(1);
  await Promise.all([rig.pour(1, 2 * MIB), rig.clock.advance(5_000)]);
  for (let count = 1; count <= 15; count++) {
    void rig.pour(1, 1_000);
    await rig.clock.advance(100);
  }
  const before = rig.received.get(1) ?? 0;
  rig.mustYield = true;
  for (let count = 1; count <= 20; count++) {
    void rig.pour(1, 1_500);
    await rig.clock.advance(5_000);
  }
  expect((rig.received.get(1) ?? 0) - before).toBe(20 * 1_500);
});

it("a reader that takes nothing stops its own stream only", async () => {
  const rig = new Rig(1_000_000, 20);
  for (const id of [1, 2, 3]) {
    rig.open(id);
    void rig.pour(id, 50 * MIB);
  }
  rig.stalled.add(2);
  await rig.clock.advance(10_000);
  expect(rig.received.get(2)).toBe(64 * KIB);
  const [first = 0, third = 0] = [rig.received.get(1), rig.received.get(3)];
  expect(first + third).toBeGreaterThan(9_000_000);
  expect(Math.abs(first - third)).toBeLessThan(0.05 * first);
});

it("a removed stream sends no more, and its writers are told", async () => {
  const rig = new Rig(10_000, 20);
  rig.open(1);
  const written = rig.sender.write(1, STREAM_CHANNELS.data, new Uint8Array(200 * KIB));
  await rig.clock.advance(1_000);
  rig.sender.remove(1);
  expect(await written).toBe(false);
  await rig.clock.advance(60_000);
  expect(rig.received.get(1)).toBeLessThan(50 * KIB);
  expect(await rig.sender.write(1, STREAM_CHANNELS.data, new Uint8Array(1))).toBe(false);
});

it("the end of the data follows all of it, even without credit", async () => {
  const { sender, sent } = instantSender();
  sender.add(1, 10);
  void sender.write(1, STREAM_CHANNELS.data, new Uint8Array(10));
  void sender.write(1, STREAM_CHANNELS.end, new Uint8Array());
  expect(sent().map(({ channel, length }) => [channel, length])).toEqual([
    [0, 10],
    [3, 0],
  ]);
});

it("a confirmation of more than was sent is refused", () => {
  const { sender } = instantSender();
  sender.add(1, 100);
  void sender.write(1, STREAM_CHANNELS.data, new Uint8Array(50));
  expect(sender.arrived(51)).toBe(false);
  expect(sender.arrived(50)).toBe(true);
  expect(sender.arrived(49)).toBe(false);
});

it("never sends beyond credit, loses or reorders nothing, and ends with everything sent", async () => {
  const action = fc.oneof(
    fc.record({ kind: fc.constant("write" as const), stream: fc.nat({ max: 2 }), bytes: fc.nat({ max: 40_000 }) }),
    fc.record({ kind: fc.constant("grant" as const), stream: fc.nat({ max: 2 }), bytes: fc.nat({ max: 30_000 }) }),
    fc.record({ kind: fc.constant("arrive" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ kind: fc.constant("block" as const), isBlocked: fc.boolean() }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60 }), async (actions) => {
      const link = instantSender();
      const { sender } = link;
      const credit = [1_000, 1_000, 1_000];
      const written = [0, 0, 0];
      credit.forEach((bytes, id) => sender.add(id, bytes));
      const total = (id?: number): number =>
        link.sent().reduce((sum, part) => (id === undefined || part.id === id ? sum + part.length : sum), 0);
      let arrived = 0;
      const check = (): void => credit.forEach((bytes, id) => expect(total(id)).toBeLessThanOrEqual(bytes));
      for (const step of actions) {
        if (step.kind === "write") {
          const before = written[step.stream] ?? 0;
          void sender.write(step.stream, STREAM_CHANNELS.data, numbered(before, step.bytes));
          written[step.stream] = before + step.bytes;
        } else if (step.kind === "grant") {
          credit[step.stream] = (credit[step.stream] ?? 0) + step.bytes;
          sender.grant(step.stream, step.bytes, Infinity);
        } else if (step.kind === "arrive") {
          arrived += Math.floor((total() - arrived) * step.share);
          expect(sender.arrived(arrived)).toBe(true);
        } else link.block(step.isBlocked);
        check();
      }
      link.block(false);
      written.forEach((bytes, id) => sender.grant(id, bytes, Infinity));
      for (let last = -1; last !== total();) {
        last = total();
        expect(sender.arrived(last)).toBe(true);
      }
      written.forEach((bytes, id) => {
        expect(link.content(id)).toEqual(numbered(0, bytes));
      });
    }),
    { numRuns: 200 },
  );
});

it("a receiver that has little time for a sender keeps its credit low, and gives it back later", () => {
  const credit = new CreditPool(MIB, 16).open();
  for (let left = credit.first; left > 0; left -= KIB) {
    expect(credit.receive(KIB)).toBe(true);
    expect(credit.take(KIB, 4 * KIB)).toBeLessThanOrEqual(4 * KIB);
  }
  // 64 KiB were taken, and 4 KiB of new credit are out at most.
  let outstanding = 0;
  while (credit.receive(KIB)) {
    outstanding++;
    if (outstanding > 100) break;
  }
  expect(outstanding).toBeGreaterThan(0);
  expect(outstanding).toBeLessThanOrEqual(4);
  expect(credit.take(outstanding * KIB)).toBeGreaterThanOrEqual(64 * KIB);
});

it("credit grows with a reader that keeps up, within the pool, and is given back", () => {
  const pool = new CreditPool(MIB, 16);
  const credits = Array.from({ length: 16 }, () => pool.open());
  expect(credits.map(({ first }) => first)).toEqual(credits.map(() => 64 * KIB));
  const [first] = credits;
  // The pool is empty: the window stays.
  for (let round = 0; round < 20; round++) expect(drain(first!, 16 * KIB)).toBe(16 * KIB);
  for (const credit of credits.slice(1)) credit[Symbol.dispose]();
  credits[1]?.[Symbol.dispose]();
  let granted = 0;
  for (let round = 0; round < 200; round++) granted += drain(first!, 16 * KIB) - 16 * KIB;
  // Up to a quarter of the window is taken and not granted yet.
  expect(granted).toBeGreaterThanOrEqual(128 * KIB);
  expect(granted).toBeLessThanOrEqual(192 * KIB);
  expect(first?.receive(MAX_STREAM_CREDIT + 1)).toBe(false);
});

/** Receives data and takes it. Returns the credit for more. */
function drain(credit: ReceiveCredit, bytes: number): number {
  expect(credit.receive(bytes)).toBe(true);
  return credit.take(bytes);
}

/** Bytes whose values follow their position. */
function numbered(from: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => (from + index) % 251);
}

/** A sender whose messages the system takes at once, unless blocked. */
function instantSender() {
  const messages: Uint8Array[] = [];
  let isBlocked = false;
  const sink = {
    get bufferedAmount() {
      return isBlocked ? 1 : 0;
    },
    send: (message: Uint8Array) => void messages.push(message),
  };
  const sender = new StreamSender(sink, new FakeClock());
  const parts = () =>
    messages.map((message) => {
      const decoded = decodeStreamMessage(message);
      if (decoded?.kind !== "data") throw new Error("not data");
      return decoded;
    });
  return {
    sender,
    sent: () => parts().map(({ streamId, channel, bytes }) => ({ id: streamId, channel, length: bytes.length })),
    content: (id: number) =>
      new Uint8Array(Buffer.concat(parts().map(({ streamId, bytes }) => (streamId === id ? bytes : new Uint8Array())))),
    block(blocked: boolean) {
      isBlocked = blocked;
      if (!blocked) sender.flush();
    },
  };
}
