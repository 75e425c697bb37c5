import { expect, test } from "vitest";
import { NetworkFailure } from "../../../../src/edgectl/api/network-failure.ts";
import type { RolloutEvent } from "../../../../src/edgectl/api/rollout-streams.ts";
import { followRollout } from "../../../../src/edgectl/rollouts/follow.ts";
import { fastClock } from "../../../support/fast-clock.ts";

const event = (seq: number, status = "Running"): RolloutEvent => ({
  status,
  message: `Event ${seq}`,
  seq,
  timestamp: 1,
  state: "running",
  wave: 1,
  counts: {},
});
const lost = () => new NetworkFailure("http://service", "reset", { maybeSent: true });

/** Follows streams that end, or break with an error. */
async function follow(streams: readonly (readonly (RolloutEvent | Error)[])[], giveUpAfterMs = 60_000) {
  const asked: number[] = [];
  const told: string[] = [];
  async function* open(after: number) {
    asked.push(after);
    for (const item of streams[asked.length - 1] ?? [lost()]) {
      if (item instanceof Error) throw item;
      yield item;
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
    clock: fastClock(1_000),
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
  const { asked, told, result } = await follow([[event(1), lost()], [lost()], [event(2, "Fail")]]);
  expect({ asked, told, result }).toEqual({ asked: [0, 1, 1], told: ["1", "lost", "back", "2"], result: "Fail" });
});

test("gives up after an outage that is longer than asked for", async () => {
  const { result } = await follow([[event(1), lost()]], 5_000);
  expect(result).toBeInstanceOf(NetworkFailure);
});
