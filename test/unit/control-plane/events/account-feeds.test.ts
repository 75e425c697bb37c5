import { expect, onTestFinished, test } from "vitest";
import { InProcessBus } from "../../../../src/control-plane/bus/in-process-bus.ts";
import { AccountFeeds } from "../../../../src/control-plane/events/account-feeds.ts";
import type { AccountEventStore } from "../../../../src/control-plane/store/account-events.ts";
import { createLogger } from "../../../../src/lib/logger.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

/** Feeds of an account with 5,000 events without ids, which get them 2,000 at each read. */
async function setUp() {
  let lastId = 10;
  const store: AccountEventStore = {
    read: async () => {
      lastId = Math.min(lastId + 2_000, 5_010);
      return { events: [], hasMore: lastId < 5_010, removedTo: 5, lastId };
    },
    prune: async () => 0,
    prepare: async () => {},
    startAnew: async () => {},
  };
  const logger = await createLogger({ name: "test", level: "fatal" });
  const feeds = new AccountFeeds({ store, bus: new InProcessBus(), clock: new FakeClock(), logger });
  onTestFinished(() => feeds[Symbol.dispose]());
  return feeds;
}

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
