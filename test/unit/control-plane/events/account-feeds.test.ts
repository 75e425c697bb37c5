import { expect, onTestFinished, test } from "vitest";
import { InProcessBus } from "../../../../src/control-plane/bus/in-process-bus.ts";
import { AccountFeeds, accountTopic } from "../../../../src/control-plane/events/account-feeds.ts";
import type { EventSink } from "../../../../src/control-plane/events/account-feed.ts";
import type { AccountEventStore, StoredAccountEvent } from "../../../../src/control-plane/store/account-events.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { StoreUnavailableError } from "../../../../src/control-plane/store/unavailable.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { parseEventStream } from "../../../support/sse-client.ts";
import { waitFor } from "../../../support/wait-for.ts";
import { whileTimePasses } from "../../../support/while-time-passes.ts";

const unused = { prune: async () => 0, prepare: async () => {}, startAnew: async () => {} };

/** Feeds of an account with 5,000 events without ids, which get them 2,000 at each read. */
async function setUp() {
  let lastId = 10;
  const store: AccountEventStore = {
    read: async () => {
      lastId = Math.min(lastId + 2_000, 5_010);
      return { events: [], hasMore: lastId < 5_010, removedTo: 5, lastId };
    },
    ...unused,
  };
  const logger = await createLogger({ name: "test", level: "fatal" });
  const feeds = new AccountFeeds({ store, bus: new InProcessBus(), clock: new FakeClock(), logger });
  onTestFinished(() => feeds[Symbol.dispose]());
  return feeds;
}

const sinkTo = (received: string[]): EventSink => ({
  send: (bytes) => void received.push(...[...bytes.toString().matchAll(/^id: ?(\d+)$/gm)].map(([, id = ""]) => id)),
  drained: async () => true,
});

test("a stream that selects assets has each event once, also if the store fails in between; others do not wait", async () => {
  const events: StoredAccountEvent[] = [];
  const add = (...ids: readonly number[]): void => {
    for (const id of ids) events.push({ id, atMs: 1, event: { type: "asset.changed", asset_id: `asset ${id % 2}` } });
  };
  const read: AccountEventStore["read"] = async (_accountId, after) => ({
    events: events.filter(({ id }) => id > after),
    hasMore: false,
    removedTo: 0,
    lastId: events.at(-1)?.id ?? 0,
  });
  const clock = new FakeClock();
  const bus = new InProcessBus();
  const logger = await createLogger({ name: "test", level: "fatal" });
  using feeds = new AccountFeeds({ store: { ...unused, read }, bus, clock, logger });
  const [all, odd]: [string[], string[]] = [[], []];
  let failures = 0;
  const select = async (uuids: readonly string[]) => {
    if (failures-- > 0) throw new StoreUnavailableError("gone");
    return new Set(uuids.filter((uuid) => uuid === "asset 1"));
  };
  add(1, 2);
  using _all = feeds.open("acc_1", 0, sinkTo(all));
  using _odd = feeds.open("acc_1", 0, sinkTo(odd), { wants: () => true, select });
  await whileTimePasses(
    clock,
    waitFor("the events of before", () => all.length === 2 && odd.length === 1),
  );
  for (const ids of [[3, 4], [5]]) {
    failures = 2;
    add(...ids);
    bus.publish(accountTopic("acc_1"));
    await whileTimePasses(
      clock,
      waitFor("the new events", () => all.includes(String(ids.at(-1)))),
    );
    await whileTimePasses(
      clock,
      waitFor("those of the asset", () => odd.includes(String(ids.find((id) => id % 2)))),
    );
  }
  expect([all, odd]).toEqual([
    ["1", "2", "3", "4", "5"],
    ["1", "3", "5"],
  ]);
});

const textsTo = (received: string[]): EventSink => ({
  send: (bytes) => void received.push(bytes.toString()),
  drained: async () => true,
});

test("a client whose filter leaves out events learns the id of the last one, without data", async () => {
  const events: StoredAccountEvent[] = [];
  const read: AccountEventStore["read"] = async (_accountId, after) => ({
    events: events.filter(({ id }) => id > after),
    hasMore: false,
    removedTo: 0,
    lastId: events.at(-1)?.id ?? 0,
  });
  const clock = new FakeClock();
  const logger = await createLogger({ name: "test", level: "fatal" });
  const bus = new InProcessBus();
  using feeds = new AccountFeeds({ store: { ...unused, read }, bus, clock, logger });
  const texts: [string[], string[]] = [[], []];
  using _all = feeds.open("acc_1", 0, textsTo(texts[0]));
  using _none = feeds.open("acc_1", 0, textsTo(texts[1]), { wants: () => false });
  events.push({ id: 7, atMs: 1, event: { type: "asset.changed", asset_id: "a" } });
  bus.publish(accountTopic("acc_1"));
  await whileTimePasses(
    clock,
    waitFor("the event", () => texts[0].some((text) => text.startsWith("id: 7\ndata:"))),
  );
  await whileTimePasses(
    clock,
    waitFor("a keep-alive after it", () => texts[1].includes("id: 7\n\n") && texts[1].at(-1) === "\n"),
  );
  expect(texts[1].filter((text) => text !== "\n")).toEqual(["id: 7\n\n"]);
  // A standard client shows nothing for it, and goes on from there.
  expect(parseEventStream(texts[1].join(""))).toEqual([]);
  expect(parseEventStream(`${texts[1].join("")}data: next\n\n`)).toEqual([{ data: "next", lastEventId: "7" }]);
  expect(texts[0].filter((text) => text !== "\n")).toHaveLength(1);
});

test.each([
  ["hello", undefined],
  ["reset", 1],
] as const)(
  "a stream that begins with %s begins at the end, however many events have no id yet",
  async (type, after) => {
    const feeds = await setUp();
    expect(await feeds.start("acc_1", after)).toEqual({ note: { type, id: "5010" }, after: 5_010 });
  },
);
