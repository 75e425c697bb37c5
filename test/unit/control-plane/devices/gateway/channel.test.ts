import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Channel,
  type ChannelEffect,
  KEEP_ALIVE_MS,
  MAX_SILENCE_MS,
  MISSING_PART_TIMEOUT_MS,
  OPEN_AGAIN_MS,
  OPEN_TIMEOUT_MS,
} from "../../../../../src/control-plane/core/gateway/channel.ts";
import {
  type AddressedMessage,
  type ChannelMessage,
  decodeMessage,
  encodeMessage,
} from "../../../../../src/control-plane/core/gateway/message.ts";
import { PartReceiver } from "../../../../../src/control-plane/core/gateway/part-receiver.ts";
import {
  MAX_BODY_BYTES,
  MAX_PART_BYTES,
  MAX_WAITING_BYTES,
  WINDOW_PARTS,
} from "../../../../../src/control-plane/core/gateway/part-sender.ts";
import { SeededRandom } from "../../../../support/chaos/seeded-random.ts";

interface Network {
  readonly seed: number;
  readonly loss: number;
  readonly repetition: number;
  readonly maxDelayMs: number;
}

/** One end with what happened to it. */
class End {
  readonly channel: Channel;
  readonly received: string[] = [];
  outcome: "open" | "finished" | "failed" | "ended" = "open";
  endBody: string | undefined;
  maxUntaken = 0;

  constructor(now: number) {
    this.channel = new Channel(now);
  }
}

const PART: ChannelMessage = {
  kind: "part",
  number: 0,
  taken: 0,
  isBodyEnd: true,
  isChannelEnd: false,
  bytes: new Uint8Array(),
};

const text = (body: Uint8Array): string => Buffer.from(body).toString();

/** Two ends and a network, in simulated time. */
class Pair {
  now = 0;
  readonly ends: readonly [End, End] = [new End(0), new End(0)];
  readonly #random: SeededRandom;
  readonly #network: Network;
  #events: { readonly at: number; readonly run: () => void }[] = [];

  constructor(network: Network) {
    this.#network = network;
    this.#random = new SeededRandom(network.seed);
  }

  send(from: 0 | 1, body: string, isEnd = false): void {
    this.apply(from, this.ends[from].channel.send(Buffer.from(body), isEnd, this.now));
  }

  /** Schedules an event, such as a body that is sent then. */
  at(ms: number, run: () => void): void {
    this.#events.push({ at: ms, run });
  }

  run(untilMs: number): void {
    for (let tick = 1_000; tick <= untilMs; tick += 1_000)
      for (const end of [0, 1] as const) this.at(tick, () => this.apply(end, this.ends[end].channel.tick(this.now)));
    for (;;) {
      this.#events.sort((a, b) => a.at - b.at);
      const next = this.#events.shift();
      if (!next || next.at > untilMs) return;
      this.now = Math.max(this.now, next.at);
      next.run();
    }
  }

  apply(at: 0 | 1, effects: readonly ChannelEffect[]): void {
    const end = this.ends[at];
    for (const effect of effects) {
      expect(end.outcome).toBe("open");
      switch (effect.type) {
        case "send":
          this.#transmit(at === 0 ? 1 : 0, effect.message);
          break;
        case "deliver":
          end.received.push(text(effect.body));
          this.at(this.now + this.#random.between(0, 20), () => this.apply(at, end.channel.taken(this.now)));
          break;
        case "ended":
          end.endBody = text(effect.body);
          end.outcome = "ended";
          break;
        case "finished":
        case "failed":
          end.outcome = effect.type;
      }
    }
  }

  #transmit(to: 0 | 1, message: ChannelMessage): void {
    const { loss, repetition, maxDelayMs } = this.#network;
    for (let copies = this.#random.chance(repetition) ? 2 : 1; copies > 0; copies--) {
      if (this.#random.chance(loss)) continue;
      const at = this.now + this.#random.between(0, maxDelayMs);
      this.at(at, () => this.apply(to, this.ends[to].channel.receive(message, this.now)));
    }
  }
}

const seed = fc.integer({ min: 1, max: 2 ** 31 });
const bodies = fc.array(
  fc.record({ from: fc.constantFrom(0 as const, 1 as const), at: fc.integer({ min: 0, max: 20_000 }) }),
  {
    maxLength: 40,
  },
);

/** Sends the bodies, in order of their time, and then the end of the second end. */
function play(
  pair: Pair,
  sends: readonly { readonly from: 0 | 1; readonly at: number }[],
): readonly [string[], string[]] {
  const sent: [string[], string[]] = [[], []];
  pair.send(0, "request");
  sent[0].push("request");
  for (const [index, { from, at }] of sends.toSorted((a, b) => a.at - b.at).entries()) {
    const body = `${index}`.repeat(1 + (index % 3));
    sent[from].push(body);
    pair.at(at, () => pair.send(from, body));
  }
  pair.at(25_000, () => pair.send(1, "the end", true));
  pair.run(200_000);
  return sent;
}

describe("a channel", () => {
  test("delivers every body once and in order over a network that delays, reorders and repeats", () => {
    const network = fc.record({
      seed,
      loss: fc.constant(0),
      repetition: fc.double({ min: 0, max: 0.5, noNaN: true }),
      maxDelayMs: fc.integer({ min: 0, max: MISSING_PART_TIMEOUT_MS / 4 }),
    });
    fc.assert(
      fc.property(network, bodies, (conditions, sends) => {
        const pair = new Pair(conditions);
        const [fromAsker, fromHolder] = play(pair, sends);
        const [asker, holder] = pair.ends;
        expect([asker.outcome, asker.endBody, holder.outcome]).toEqual(["ended", "the end", "finished"]);
        expect(asker.received).toEqual(fromHolder);
        expect(holder.received).toEqual(fromAsker);
      }),
      { numRuns: 150 },
    );
  });

  test("never repeats, skips or mixes, and both ends are over in the end, whatever is lost", () => {
    const network = fc.record({
      seed,
      loss: fc.double({ min: 0.01, max: 0.9, noNaN: true }),
      repetition: fc.double({ min: 0, max: 0.5, noNaN: true }),
      maxDelayMs: fc.integer({ min: 0, max: 60_000 }),
    });
    fc.assert(
      fc.property(network, bodies, (conditions, sends) => {
        const pair = new Pair(conditions);
        const [fromAsker, fromHolder] = play(pair, sends);
        const [asker, holder] = pair.ends;
        expect(asker.received).toEqual(fromHolder.slice(0, asker.received.length));
        expect(holder.received).toEqual(fromAsker.slice(0, holder.received.length));
        expect(asker.outcome).not.toBe("open");
        expect(holder.outcome).not.toBe("open");
        // A channel that ended has everything.
        if (asker.outcome === "ended") expect(asker.received).toEqual(fromHolder);
      }),
      { numRuns: 300 },
    );
  });

  test("bodies of any size arrive whole, cut into parts", () => {
    const sizes = fc.array(fc.integer({ min: 0, max: MAX_BODY_BYTES }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(seed, sizes, (number, lengths) => {
        const pair = new Pair({ seed: number, loss: 0, repetition: 0.2, maxDelayMs: 20 });
        pair.send(0, "request");
        // One at a time: more than fits into what may wait would be refused.
        for (const [index, length] of lengths.entries())
          pair.at(1_000 * (index + 1), () => pair.send(1, String(index).repeat(length)));
        pair.run(20_000);
        expect(pair.ends[0].received.map(({ length }) => length)).toEqual(lengths);
      }),
      { numRuns: 15 },
    );
  });

  test("an end that takes nothing stops the other after a window, and is given up when too much waits", () => {
    const channel = new Channel(0);
    const parts: ChannelEffect[] = [];
    const body = new Uint8Array(MAX_PART_BYTES);
    let sent = 0;
    let effects: ChannelEffect[];
    do {
      effects = channel.send(body, false, 0);
      parts.push(...effects.filter(({ type }) => type === "send"));
      sent++;
    } while (effects.every(({ type }) => type !== "failed"));
    // The last message is the reset.
    expect(parts).toHaveLength(WINDOW_PARTS + 1);
    expect(sent * MAX_PART_BYTES).toBeLessThanOrEqual(
      WINDOW_PARTS * MAX_PART_BYTES + MAX_WAITING_BYTES + MAX_PART_BYTES,
    );
    expect(channel.isOver).toBe(true);
  });

  test("what cannot be is refused: parts beyond the window, receipts of unsent parts, larger parts", () => {
    const bad: ChannelMessage[] = [
      { ...PART, number: WINDOW_PARTS },
      { ...PART, taken: 1 },
      { ...PART, bytes: new Uint8Array(MAX_PART_BYTES + 1) },
      { ...PART, kind: "alive", number: WINDOW_PARTS + 1 },
    ];
    for (const message of bad) {
      const channel = new Channel(0);
      expect(channel.receive(message, 0).at(-1)).toEqual({ type: "failed", reason: "bad message" });
      expect(channel.receive(PART, 0)).toEqual([]);
    }
  });

  test("a part that is repeated is not kept, whether its body was taken or not", () => {
    const receiver = new PartReceiver();
    const part = { ...PART, isBodyEnd: false };
    expect([receiver.add(part), receiver.add(part)]).toEqual(["new", "repeated"]);
    expect(receiver.add({ ...part, number: 1, isBodyEnd: true })).toBe("new");
    expect(receiver.next()).toBeDefined();
    expect(receiver.add(part)).toBe("repeated");
    receiver.take();
    expect(receiver.add(part)).toBe("repeated");
  });

  test("what has arrived whole is read to the end, although the other end is gone", () => {
    const reset: ChannelMessage = { ...PART, kind: "reset" };
    const channel = new Channel(0);
    expect(channel.receive(PART, 0)).toMatchObject([{ type: "deliver" }]);
    expect(channel.receive({ ...PART, number: 1, isChannelEnd: true }, 0)).toEqual([]);
    expect(channel.receive(reset, 0)).toEqual([]);
    expect(channel.tick(MAX_SILENCE_MS)).toEqual([]);
    expect(channel.taken(MAX_SILENCE_MS).at(-1)).toMatchObject({ type: "ended" });
    const incomplete = new Channel(0);
    incomplete.receive(PART, 0);
    incomplete.receive({ ...PART, number: 2, isChannelEnd: true }, 0);
    expect(incomplete.receive(reset, 0)).toEqual([{ type: "failed", reason: "reset" }]);
  });

  test("an unanswered channel fails soon, a silent one later, and keep-alives keep one open", () => {
    const unanswered = new Channel(0);
    unanswered.send(new Uint8Array(), false, 0);
    expect(unanswered.tick(OPEN_AGAIN_MS - 1)).toEqual([]);
    expect(unanswered.tick(OPEN_AGAIN_MS)).toMatchObject([{ message: { kind: "part", number: 0 } }]);
    expect(unanswered.tick(OPEN_TIMEOUT_MS - 1)).toHaveLength(1);
    expect(unanswered.tick(OPEN_TIMEOUT_MS).at(-1)).toEqual({ type: "failed", reason: "silent" });
    const pair = new Pair({ seed: 1, loss: 0, repetition: 0, maxDelayMs: 10 });
    pair.send(0, "request");
    pair.run(MAX_SILENCE_MS * 10);
    expect(pair.ends.map(({ outcome }) => outcome)).toEqual(["open", "open"]);
    expect(pair.ends[0].channel.tick(pair.now + KEEP_ALIVE_MS + MAX_SILENCE_MS).at(-1)).toMatchObject({
      reason: "silent",
    });
  });
});

describe("messages of channels", () => {
  const message: fc.Arbitrary<AddressedMessage> = fc.record({
    kind: fc.constantFrom("part", "receipt", "alive", "reset"),
    number: fc.nat(2 ** 32 - 1),
    taken: fc.nat(2 ** 32 - 1),
    isBodyEnd: fc.boolean(),
    isChannelEnd: fc.boolean(),
    bytes: fc.uint8Array(),
    channel: fc.stringMatching(/^[0-9a-f]{32}$/),
    sender: fc.stringMatching(/^[\w-]{1,64}$/),
  });

  test("are decoded as they were encoded", () => {
    fc.assert(
      fc.property(message, (each) => {
        expect(decodeMessage(encodeMessage(each))).toEqual(each);
      }),
    );
  });

  test("any bytes are decoded or refused", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => void decodeMessage(bytes)));
    fc.assert(
      fc.property(message, fc.nat(120), fc.nat(255), (each, at, value) => {
        const bytes = encodeMessage(each);
        bytes[at % bytes.length] = value;
        void decodeMessage(bytes.subarray(0, 1 + (at % bytes.length)));
      }),
    );
  });
});
