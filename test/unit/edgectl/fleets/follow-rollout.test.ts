import { expect, test } from "vitest";
import { NetworkFailure } from "../../../../src/edgectl/api/network-failure.ts";
import type { RolloutEvent } from "../../../../src/edgectl/api/rollout-streams.ts";
import { followRollout } from "../../../../src/edgectl/rollouts/follow.ts";
import { IdleClock } from "../../../support/idle-clock.ts";

const event = (seq: number, status = "Running"): RolloutEvent => ({
  status,
  message: `Event ${seq}`,
  seq,
  timestamp: 1,
  state: "running",
  wave: 1,
  counts: {},
  waiting_for: [],
  waits_for_people: false,
});
const lost = () => new NetworkFailure("http://service", "reset", { maybeSent: true });

/** Follows streams that end, or break with an error. */
async function follow(
  streams: readonly (readonly (RolloutEvent | Error | "open" | "wait")[])[],
  giveUpAfterMs = 60_000,
) {
  const clock = new IdleClock();
  const asked: number[] = [];
  const told: string[] = [];
  async function* open(after: number, onOpen: () => void) {
    asked.push(after);
    for (const item of streams[asked.length - 1] ?? [lost()]) {
      if (item instanceof Error) throw item;
      if (item === "open") onOpen();
      else if (item === "wait") await clock.sleep(10_000);
      else yield item;
    }
    await Promise.resolve();
  }
  const outcome = followRollout({
    open,
    listener: {
      onEvent: ({ seq }) => told.push(String(seq)),
      onDisconnected: () => told.push("lost"),
      onReconnected: () => told.push("back"),
    },
    giveUpAfterMs,
    clock,
    random: () => 0.5,
    signal: new AbortController().signal,
  });
  const result = await outcome.then(
    ({ status }) => status,
    (error: unknown) => error,
  );
  return { asked, told, result };
}

test("goes on after the last event where the service ends the stream, without a word", async () => {
  const { asked, told, result } = await follow([
    [event(1), event(2)],
    [event(2), event(3, "Success")],
  ]);
  expect({ asked, told, result }).toEqual({ asked: [0, 2], told: ["1", "2", "3"], result: "Success" });
});

test("says once that the connection is lost, and that it is back", async () => {
  const { asked, told, result } = await follow([["open", event(1), lost()], [lost()], ["open", event(2, "Fail")]]);
  expect({ asked, told, result }).toEqual({ asked: [0, 1, 1], told: ["1", "lost", "back", "2"], result: "Fail" });
});

test("gives up after an outage that is longer than asked for", async () => {
  const { result } = await follow([["open", event(1), lost()]], 5_000);
  expect(result).toBeInstanceOf(NetworkFailure);
});

test("gives up on a service that accepts and at once ends or breaks the stream", async () => {
  const ended = await follow([["open", event(1)], ...Array.from({ length: 100 }, () => ["open"] as const)]);
  expect(ended.result).toMatchObject({ message: "The service ended the stream again and again, without an event." });
  const broken = await follow([["open", event(1)], ...Array.from({ length: 100 }, () => ["open", lost()] as const)]);
  expect(broken.result).toBeInstanceOf(NetworkFailure);
});

test("ends with an event that says that it waits for people, unless that is over by now", async () => {
  const waiting = { ...event(1), waits_for_people: true };
  const answers = [false, true];
  const options = {
    listener: { onEvent: () => {}, onDisconnected: () => {}, onReconnected: () => {} },
    giveUpAfterMs: 0,
    clock: new IdleClock(),
    random: () => 0.5,
    signal: new AbortController().signal,
  };
  async function* open() {
    yield waiting;
    yield event(2);
    yield { ...waiting, seq: 3 };
    await Promise.resolve();
  }
  const endsWaiting = async () => answers.shift() ?? true;
  expect(await followRollout({ ...options, open, endsWaiting })).toMatchObject({ seq: 3, status: "Running" });
});

test("a stream without events for longer than that is no outage", async () => {
  const quiet = ["open", "wait", lost()] as const;
  const { told, result } = await follow(
    [["open", event(1), lost()], quiet, quiet, ["open", event(2, "Success")]],
    5_000,
  );
  expect({ told, result }).toEqual({
    told: ["1", "lost", "back", "lost", "back", "lost", "back", "2"],
    result: "Success",
  });
});
