import { expect, test } from "vitest";
import type { MessageLink } from "../../../../../src/control-plane/bus/message-link.ts";
import {
  KEEP_ALIVE_MS,
  MAX_SILENCE_MS,
  OPEN_TIMEOUT_MS,
} from "../../../../../src/control-plane/core/gateway/channel.ts";
import { ASSET, type TwoInstances, twoInstances } from "../../../../contract/gateway/harness.ts";
import { type Fault, FaultyLink } from "../../../../support/bus/faulty-link.ts";
import { type MemoryLink, MemoryNetwork } from "../../../../support/bus/memory-link.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";
import { RecordedQuery, RecordedStream } from "../../../../support/gateway/recorded-sink.ts";

const LOGS = { app: "web", follow: true };

interface Rig extends TwoInstances {
  readonly clock: FakeClock;
  /** What happens to messages of the asking instance, and of the holding one. */
  readonly faults: { asker: Fault; holder: Fault };
  readonly links: readonly [MemoryLink, MemoryLink];
}

function start(wrap: (link: MessageLink) => MessageLink = (link) => link): Rig {
  const network = new MemoryNetwork();
  const clock = new FakeClock();
  const faults: Rig["faults"] = { asker: "once", holder: "once" };
  const links = [network.join(), network.join()] as const;
  const asking = wrap(new FaultyLink(links[0], () => faults.asker));
  const holding = wrap(new FaultyLink(links[1], () => faults.holder));
  return { ...twoInstances([asking, holding], new AsyncDisposableStack(), clock), clock, faults, links };
}

/** Lets messages that are under way arrive. */
async function settle(rig: Rig, ms = 0): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await rig.clock.advance(ms / 20);
}

async function asked(rig: Rig) {
  const sink = new RecordedQuery();
  const query = rig.gateway.query(ASSET, "logs", LOGS, sink);
  await settle(rig);
  const seen = rig.session.queries[0];
  if (!seen) throw new Error("the device was not asked");
  return { sink, query, seen };
}

test("while the bus is down, a question to a device of another instance ends at once", async () => {
  await using rig = start();
  rig.links[0].state = "down";
  const [query, stream] = [new RecordedQuery(), new RecordedStream()];
  rig.gateway.query(ASSET, "logs", LOGS, query);
  rig.gateway.openStream(ASSET, { kind: "forward", app: "web", params: { port: 80 }, credit: 1, by: "key" }, stream);
  await settle(rig);
  expect([query.codes, stream.ends.map(({ code }) => code)]).toEqual([["ServiceUnavailable"], ["ServiceUnavailable"]]);
  expect([rig.gateway.channels, rig.clock.untilNext]).toEqual([0, expect.any(Number)]);
});

test("when the bus goes down, open questions end at once on both instances", async () => {
  await using rig = start();
  const { sink, seen } = await asked(rig);
  rig.links[0].state = "down";
  expect([sink.codes, rig.gateway.channels, seen.isCancelled]).toEqual([["ServiceUnavailable"], 0, false]);
  rig.links[1].state = "down";
  expect([seen.isCancelled, rig.holder.channels]).toEqual([true, 0]);
});

test("an instance that does not respond is given up", async () => {
  await using rig = start();
  rig.faults.asker = "lost";
  const sink = new RecordedQuery();
  rig.gateway.query(ASSET, "logs", LOGS, sink);
  await settle(rig, OPEN_TIMEOUT_MS + 1_000);
  expect(sink.codes).toEqual(["ServiceUnavailable"]);
  expect(rig.session.queries).toEqual([]);
});

test("a first message that is lost is sent again, and the device is asked once", async () => {
  await using rig = start();
  rig.faults.asker = "lost";
  const sink = new RecordedQuery();
  using _query = rig.gateway.query(ASSET, "logs", LOGS, sink);
  await settle(rig, 500);
  expect(rig.session.queries).toEqual([]);
  rig.faults.asker = "twice";
  await settle(rig, 2_000);
  expect(rig.session.queries).toHaveLength(1);
  expect(sink.ends).toEqual([]);
});

test("the holder cancels a query on the device when the asking instance is gone", async () => {
  await using rig = start();
  const { seen, sink } = await asked(rig);
  rig.faults.asker = "lost";
  await settle(rig, MAX_SILENCE_MS - KEEP_ALIVE_MS);
  expect(seen.isCancelled).toBe(false);
  await settle(rig, 2 * KEEP_ALIVE_MS);
  expect(seen.isCancelled).toBe(true);
  expect([sink.codes, rig.gateway.channels, rig.holder.channels]).toEqual([["ServiceUnavailable"], 0, 0]);
});

test("a query ends when the holding instance is gone", async () => {
  await using rig = start();
  const { sink } = await asked(rig);
  rig.faults.holder = "lost";
  await settle(rig, MAX_SILENCE_MS + KEEP_ALIVE_MS);
  expect(sink.codes).toEqual(["ServiceUnavailable"]);
});

test("an instance that stops ends what others have asked it, and what it has asked", async () => {
  await using rig = start();
  const { sink, seen } = await asked(rig);
  rig.holder[Symbol.dispose]();
  await settle(rig);
  expect([sink.codes, seen.isCancelled, rig.gateway.channels]).toEqual([["ServiceUnavailable"], true, 0]);
});

test("a lost answer ends the query instead of leaving a gap", async () => {
  await using rig = start();
  const { sink, seen } = await asked(rig);
  await seen.sink.answer({ number: 1 });
  await settle(rig);
  rig.faults.holder = "lost";
  await seen.sink.answer({ number: 2 });
  rig.faults.holder = "once";
  await seen.sink.answer({ number: 3 });
  await settle(rig, 5_000);
  expect(sink.answers).toEqual([{ number: 1 }]);
  expect([sink.codes, seen.isCancelled]).toEqual([["ServiceUnavailable"], true]);
});

test("a reader that takes nothing costs bounded memory, and never makes the device wait", async () => {
  await using rig = start();
  let taken = 0;
  const ends: unknown[] = [];
  const sink = {
    answer: () => {
      taken++;
      return new Promise<void>(() => undefined);
    },
    end: (error: unknown) => ends.push(error),
  };
  rig.gateway.query(ASSET, "logs", LOGS, sink);
  await settle(rig);
  const seen = rig.session.queries[0];
  let answers = 0;
  for (; answers < 1_000 && rig.session.queries[0]?.isCancelled === false; answers++) {
    expect(seen?.sink.answer({ text: "x".repeat(100_000) })).toBeUndefined();
    if (answers % 10 === 9) await settle(rig);
  }
  await settle(rig);
  // A window, and a megabyte that waits.
  expect(answers).toBeLessThan(30);
  expect([taken, ends.length]).toEqual([1, 1]);
});

test("a reader that fails ends its query, and nothing else", async () => {
  await using rig = start();
  const ends: unknown[] = [];
  const failing = {
    answer: () => {
      throw new Error("the reader's own");
    },
    end: (error: unknown) => ends.push(error),
  };
  rig.gateway.query(ASSET, "logs", LOGS, failing);
  await settle(rig);
  const sink = new RecordedQuery();
  using _query = rig.gateway.query(ASSET, "logs", LOGS, sink);
  await settle(rig);
  const [first, second] = rig.session.queries;
  await first?.sink.answer({ number: 1 });
  await settle(rig);
  await second?.sink.answer({ number: 2 });
  await settle(rig);
  expect([ends.length, first?.isCancelled, rig.gateway.channels]).toEqual([1, true, 1]);
  expect(sink.answers).toEqual([{ number: 2 }]);
  expect(rig.lines.map(({ msg }) => msg)).toEqual(["cannot take what another instance has sent"]);
});

test("a first message that arrives again after the query's end asks nothing", async () => {
  const kept: (readonly [string, Uint8Array])[] = [];
  await using rig = start((link) => ({
    listen: link.listen.bind(link),
    onChange: link.onChange.bind(link),
    get state() {
      return link.state;
    },
    send: (subject, message) => {
      kept.push([subject, message]);
      return link.send(subject, message);
    },
  }));
  const { query } = await asked(rig);
  query[Symbol.dispose]();
  await settle(rig);
  for (const [subject, message] of kept) rig.links[subject === "gw.asker" ? 1 : 0].send(subject, message);
  await settle(rig, 30_000);
  expect(rig.session.queries).toHaveLength(1);
  expect([rig.gateway.channels, rig.holder.channels]).toEqual([0, 0]);
});

test("nothing costs anything when nothing is asked", async () => {
  await using rig = start();
  const { query } = await asked(rig);
  query[Symbol.dispose]();
  await settle(rig, 120_000);
  expect(rig.clock.pending).toBe(0);
});
