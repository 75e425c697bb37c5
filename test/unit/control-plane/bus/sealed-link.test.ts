import fc from "fast-check";
import { expect, test } from "vitest";
import { MAX_MESSAGE_BYTES } from "../../../../src/control-plane/bus/message-link.ts";
import { open, readHeader, seal, SEAL_BYTES } from "../../../../src/control-plane/bus/sealed/message-seal.ts";
import { REPLAY_WINDOW, ReplayWindow } from "../../../../src/control-plane/bus/sealed/replay-window.ts";
import {
  MAX_AGE_MS,
  MAX_NEW_SENDERS_PER_SECOND,
  MAX_SENDERS,
  type Refusal,
  SealedLink,
} from "../../../../src/control-plane/bus/sealed/sealed-link.ts";
import { type MemoryLink, MemoryNetwork } from "../../../support/bus/memory-link.ts";
import { someBusKey, TestKeys } from "../../../support/bus/shared-keys.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

const HEADER = { keyId: "0123456789abcdef", sender: "00".repeat(15) + "ff", timeMs: 1_795_178_868_123, counter: 7 };
const KEY = new Uint8Array(32).fill(3);
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

test("a message is read with its key and subject, whatever its length", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(), fc.nat(), (message, timeMs, counter) => {
      const header = { ...HEADER, timeMs, counter };
      const sealed = seal(KEY, header, "gw.one", message);
      expect(sealed).toHaveLength(SEAL_BYTES + message.length);
      expect(readHeader(sealed)).toEqual(header);
      expect(Buffer.from(open(KEY, "gw.one", sealed) ?? "").equals(message)).toBe(true);
    }),
  );
});

test("a message that was changed anywhere, or is for another subject or under another key, is not read", () => {
  const sealed = seal(KEY, HEADER, "gw.one", Buffer.from("a question"));
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    if (readHeader(changed)) expect(open(KEY, "gw.one", changed), `byte ${at}`).toBeUndefined();
    expect(at < SEAL_BYTES && readHeader(sealed.subarray(0, at))).toBeFalsy();
  }
  expect(open(KEY, "gw.two", sealed)).toBeUndefined();
  expect(open(new Uint8Array(32), "gw.one", sealed)).toBeUndefined();
  expect(open(KEY, "gw.one", sealed.subarray(0, -1))).toBeUndefined();
});

test("each number arrives once, as far as numbers are within the window", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(40), fc.nat(3 * REPLAY_WINDOW), fc.nat()), { maxLength: 200 }), (numbers) => {
      const window = new ReplayWindow();
      const arrived = new Set<number>();
      for (const number of numbers) {
        const highest = Math.max(-1, ...arrived);
        const isNew = number > highest || (number > highest - REPLAY_WINDOW && !arrived.has(number));
        expect(window.isNew(number)).toBe(isNew);
        if (!isNew) continue;
        window.add(number);
        arrived.add(number);
      }
    }),
  );
});

interface Rig {
  readonly clock: FakeClock;
  readonly keys: TestKeys;
  readonly link: SealedLink;
  /** What carries its messages, where anyone may send. */
  readonly bus: MemoryLink;
  readonly arrived: string[];
  readonly refused: Refusal[];
  readonly lines: Record<string, unknown>[];
  readonly join: (keys?: TestKeys) => SealedLink;
  /** What was sent so far by the links of `join`. */
  readonly sent: Uint8Array[];
}

/** Until what was sent has arrived. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

/** An instance that listens to `topic`. */
function start(): Rig {
  const clock = new FakeClock();
  const network = new MemoryNetwork();
  const keys = new TestKeys(clock);
  const { logger, lines } = captureLog();
  const openLink = (shared: TestKeys): SealedLink =>
    new SealedLink({ link: network.join(), keys: shared, clock, logger });
  const link = openLink(keys);
  const [arrived, refused, sent]: [string[], Refusal[], Uint8Array[]] = [[], [], []];
  link.listen("topic", (message) => arrived.push(text(message)));
  link.onRefused = (reason) => refused.push(reason);
  const bus = network.join();
  bus.listen("topic", (message) => sent.push(message));
  return { clock, keys, link, bus, arrived, refused, lines, sent, join: (shared = keys) => openLink(shared) };
}

test("what one instance sends another one reads, and others on the bus do not", async () => {
  const { join, arrived, sent, refused } = start();
  join().send("topic", Buffer.from("hello"));
  await settle();
  expect([arrived, refused]).toEqual([["hello"], []]);
  expect(sent.map(text).join()).not.toContain("hello");
});

test("a message is read once, whatever its order, and not after half a minute", async () => {
  const { clock, bus, join, arrived, refused, sent } = start();
  const sender = join();
  bus.state = "up";
  for (const message of ["one", "two", "three"]) sender.send("topic", Buffer.from(message));
  await settle();
  for (const message of sent.toReversed()) bus.send("topic", message);
  await settle();
  expect(refused).toEqual(["repeated", "repeated", "repeated"]);
  await clock.advance(MAX_AGE_MS + 1);
  for (const message of sent) bus.send("topic", message);
  await settle();
  expect(arrived).toEqual(["one", "two", "three"]);
  expect(refused.slice(3)).toEqual(["stale", "stale", "stale"]);
});

test("what was sent before an instance has started is not read by it", async () => {
  const { clock, bus, join, sent, keys } = start();
  join().send("topic", Buffer.from("old"));
  await settle();
  await clock.advance(1_000);
  const later = join(new TestKeys(clock, keys.keys));
  const arrived: string[] = [];
  const refused: Refusal[] = [];
  later.listen("topic", (message) => arrived.push(text(message)));
  later.onRefused = (reason) => refused.push(reason);
  bus.send("topic", sent[0] ?? new Uint8Array());
  await settle();
  expect([arrived, refused]).toEqual([[], ["stale"]]);
});

test("a message for another subject, with another key or of no instance is refused, and told once a minute", async () => {
  const { clock, bus, join, arrived, refused, lines, sent, keys } = start();
  const sender = join();
  const other = join(new TestKeys(clock));
  const elsewhere = join();
  let captured = new Uint8Array();
  bus.listen("elsewhere", (message) => void (captured = Uint8Array.from(message)));
  elsewhere.send("elsewhere", Buffer.from("for others"));
  other.send("topic", Buffer.from("with a key of its own"));
  await settle();
  bus.send("topic", captured);
  bus.send("topic", Buffer.from("plain"));
  bus.send("topic", new Uint8Array(MAX_MESSAGE_BYTES + 1).fill(1));
  sender.send("topic", Buffer.from("real"));
  await settle();
  expect(arrived).toEqual(["real"]);
  expect(refused).toEqual(["unknown_key", "forged", "malformed", "malformed"]);
  expect(sent.length).toBeGreaterThan(0);
  await clock.advance(60_000);
  expect(lines).toEqual([
    expect.objectContaining({
      unknown_key: 1,
      forged: 1,
      malformed: 2,
      msg: expect.stringMatching("messages on the bus were refused") as string,
    }),
  ]);
  expect(keys.keys).toHaveLength(1);
});

test("another key takes over without a loss", async () => {
  const { join, arrived, refused, keys } = start();
  const sender = join();
  sender.send("topic", Buffer.from("old key"));
  await settle();
  const next = someBusKey();
  keys.keys = [...keys.keys, next];
  sender.send("topic", Buffer.from("old key still"));
  keys.keys = keys.keys.toReversed();
  sender.send("topic", Buffer.from("new key"));
  await settle();
  keys.keys = [next];
  sender.send("topic", Buffer.from("new key alone"));
  await settle();
  expect([arrived, refused]).toEqual([["old key", "old key still", "new key", "new key alone"], []]);
  keys.keys = [];
  expect(sender.send("topic", Buffer.from("no key"))).toBe(false);
});

test("invented senders cost a bounded number of keys, and leave no trace", async () => {
  const { clock, bus, join, arrived, refused, sent } = start();
  const sender = join();
  sender.send("topic", Buffer.from("known"));
  await settle();
  const [real = new Uint8Array()] = sent;
  for (let count = 0; count < 3 * MAX_NEW_SENDERS_PER_SECOND; count++) {
    const invented = Uint8Array.from(real);
    new DataView(invented.buffer).setUint32(9, count);
    bus.send("topic", invented);
  }
  await settle();
  expect(refused.filter((reason) => reason === "too_many_senders").length).toBeGreaterThanOrEqual(
    2 * MAX_NEW_SENDERS_PER_SECOND,
  );
  sender.send("topic", Buffer.from("goes on"));
  await settle();
  expect(arrived).toEqual(["known", "goes on"]);
  await clock.advance(1_000);
  join().send("topic", Buffer.from("a new one"));
  await settle();
  expect(arrived.at(-1)).toBe("a new one");
});

test("senders that are gone make room for new ones", async () => {
  const { clock, arrived, refused, join } = start();
  for (let count = 0; count < MAX_SENDERS; count++) {
    if (count % MAX_NEW_SENDERS_PER_SECOND === 0) await clock.advance(1_000);
    join().send("topic", Buffer.from("x"));
    await settle();
  }
  await clock.advance(1_000);
  join().send("topic", Buffer.from("one too many"));
  await settle();
  expect(refused).toEqual(["too_many_senders"]);
  await clock.advance(MAX_AGE_MS);
  join().send("topic", Buffer.from("later"));
  await settle();
  expect(arrived.at(-1)).toBe("later");
});
