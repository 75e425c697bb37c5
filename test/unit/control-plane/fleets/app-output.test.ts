import { expect, test } from "vitest";
import { AppOutput } from "../../../../src/control-plane/fleets/app-output.ts";
import { LogFeed } from "../../../../src/control-plane/devices/queries/log-feed.ts";
import type { LogsParams } from "../../../../src/protocol/apps/app-log.ts";
import { EdgeError } from "../../../../src/protocol/errors/errors.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const line = (text: string) => ({ stream: "stderr", time: "2026-11-20T10:00:00Z", text });

/** Devices whose answers the test gives: by UUID, what is done with the feed of a query. */
function devices(answers: Readonly<Record<string, (feed: LogFeed) => void>>) {
  const clock = new FakeClock();
  const asked: LogsParams[] = [];
  let open = 0;
  let mostOpen = 0;
  const output = new AppOutput(
    {
      openLogs({ uuid }, params) {
        asked.push(params);
        mostOpen = Math.max(mostOpen, ++open);
        const openQuery = () => ({ [Symbol.dispose]: () => void open-- });
        const feed = new LogFeed({
          clock,
          isFollowing: false,
          firstAnswerTimeoutMs: 10_000,
          openQuery,
          onSilence() {},
        });
        answers[uuid]?.(feed);
        return feed;
      },
    },
    clock,
  );
  return { clock, output, asked, open: () => open, mostOpen: () => mostOpen };
}

const wanted = (uuid: string) => ({ uuid, accountId: "acc", app: "web" });

test("the last lines come from each device, and none from one that has no app, sends nothing or refuses the query", async () => {
  const rig = devices({
    told(feed) {
      feed.answer({ lines: [line("starting")] });
      feed.answer({ lines: [line("x".repeat(8_000))], omitted_lines: 3 });
      feed.end(undefined);
    },
    gone: (feed) => feed.end(new EdgeError("AppNotFound")),
    empty: (feed) => feed.end(undefined),
    refused() {
      throw new EdgeError("TooManyRequests");
    },
  });
  const found = await rig.output.read(["told", "gone", "empty", "refused"].map(wanted));
  expect([...found]).toEqual([["told", `starting\n${"x".repeat(500)}`]]);
  expect(rig.asked[0]).toEqual({ app: "web", tail: 20, follow: false, previous: false });
});

test("a device that is slow or silent is not waited for: what it has sent within five seconds counts", async () => {
  const rig = devices({ slow: (feed) => feed.answer({ lines: [line("no such table")] }), silent() {} });
  const read = rig.output.read([wanted("slow"), wanted("silent")]);
  await rig.clock.advance(5_000);
  expect([...(await read)]).toEqual([["slow", "no such table"]]);
  expect(rig.open()).toBe(0);
});

test("many devices are asked a few at a time, and all of them within the same five seconds", async () => {
  const rig = devices({});
  const read = rig.output.read(Array.from({ length: 200 }, (_, index) => wanted(`${index}`)));
  await rig.clock.advance(5_000);
  expect((await read).size).toBe(0);
  expect(rig.mostOpen()).toBe(16);
  expect(rig.asked).toHaveLength(16);
  expect(rig.clock.pending).toBe(0);
});
