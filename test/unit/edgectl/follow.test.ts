import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StreamedEvent } from "../../../src/edgectl/api/deployments.ts";
import type { EventStream } from "../../../src/edgectl/api/deployments.ts";
import { NetworkFailure } from "../../../src/edgectl/api/network-failure.ts";
import { ServiceFailure } from "../../../src/edgectl/api/service-failure.ts";
import { followDeployment } from "../../../src/edgectl/deploy/follow.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { IdleClock } from "../../support/idle-clock.ts";

type Break = "reset" | "ended" | "refused" | "unavailable";

/** A service with `count` events that breaks each connection in the given ways. */
class BreakingService {
  readonly opened: number[] = [];
  readonly #events: readonly StreamedEvent[];
  readonly #breaks: { readonly how: Break; readonly after: number; readonly repeats: number }[];

  constructor(count: number, breaks: readonly { how: Break; after: number; repeats: number }[]) {
    this.#events = Array.from({ length: count }, (_none, index) => ({
      status: index === count - 1 ? "Success" : "Running",
      message: `Event ${index + 1}`,
      seq: index + 1,
    }));
    this.#breaks = [...breaks];
  }

  async open(after: number): Promise<EventStream> {
    this.opened.push(after);
    const broken = this.#breaks.shift();
    if (broken?.how === "refused") throw new NetworkFailure("http://x", "nothing listens there", { maybeSent: true });
    if (broken?.how === "unavailable") throw new ServiceFailure("no", { httpStatus: 503, retryAfterMs: 7000 });
    // Repeated events must not be shown twice.
    const from = Math.max(0, after - (broken?.repeats ?? 0));
    const events = this.#events.slice(from, broken ? from + broken.after : undefined);
    return { deploymentId: "dep_1", events: this.#stream(events, broken?.how), [Symbol.dispose]: () => undefined };
  }

  async *#stream(events: readonly StreamedEvent[], how: Break | undefined): AsyncGenerator<StreamedEvent> {
    yield* events;
    if (how === "reset") throw new NetworkFailure("http://x", "the connection was reset", { maybeSent: true });
  }
}

interface Followed {
  readonly shown: number[];
  readonly last: StreamedEvent;
  readonly notes: string[];
  readonly clock: FakeClock;
}

async function follow(service: BreakingService, giveUpAfterMs = 1e9): Promise<Followed> {
  const clock = new FakeClock();
  const shown: number[] = [];
  const notes: string[] = [];
  const progress = { isDone: false };
  const following = followDeployment({
    source: { start: () => service.open(0), resume: (_id, after) => service.open(after) },
    listener: {
      onEvent: (event) => void shown.push(event.seq ?? 0),
      onDisconnected: (why) => void notes.push(why),
      onReconnected: () => void notes.push("resumed"),
    },
    retry: { giveUpAfterMs, random: () => 0.5 },
    clock,
    signal: new AbortController().signal,
  }).finally(() => {
    progress.isDone = true;
  });
  // Advances the clock until the result is there.
  const passing = (async () => {
    while (!progress.isDone) await clock.advance(1000);
  })();
  const last = await following;
  await passing;
  return { shown, last, notes, clock };
}

const breaks = fc.array(
  fc.record({
    how: fc.constantFrom<Break>("reset", "ended", "refused", "unavailable"),
    after: fc.nat(4),
    repeats: fc.nat(3),
  }),
  { maxLength: 8 },
);

const ends = (count: number, after: number) =>
  Array.from({ length: count }, () => ({ how: "ended" as const, after, repeats: 0 }));

describe("following a deployment", () => {
  test("shows every event once and in order, over broken connections", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 9 }), breaks, async (count, breaks) => {
        // A refused first connection ends the command: see below.
        const service = new BreakingService(count, [{ how: "reset", after: 0, repeats: 0 }, ...breaks]);
        const { shown, last, notes } = await follow(service);
        expect(shown).toEqual(Array.from({ length: count }, (_none, index) => index + 1));
        expect(last.status).toBe("Success");
        expect(notes.filter((note) => note === "resumed")).toHaveLength(notes.length / 2);
      }),
    );
  });

  test("waits as long as the service asks for", async () => {
    const { clock } = await follow(
      new BreakingService(2, [
        { how: "ended", after: 1, repeats: 0 },
        { how: "unavailable", after: 0, repeats: 0 },
      ]),
    );
    expect(clock.monotonic()).toBeGreaterThanOrEqual(7000);
  });

  test("gives up after the configured time without a connection, not before", async () => {
    const refusals = Array.from({ length: 500 }, () => ({ how: "refused" as const, after: 0, repeats: 0 }));
    const service = new BreakingService(2, [{ how: "reset", after: 1, repeats: 0 }, ...refusals]);
    await expect(follow(service, 60_000)).rejects.toThrow("nothing listens there");
    // With half of a bound of at most 10 s, a minute takes a dozen attempts or more, and no more than a few dozen.
    expect(service.opened.length).toBeGreaterThan(8);
    expect(service.opened.length).toBeLessThan(40);
  });

  test("gives up on a service that accepts and at once ends the stream, unless it brings something", async () => {
    const service = new BreakingService(2, ends(500, 0));
    await expect(follow(service, 60_000)).rejects.toThrow("The service ended the stream again and again");
    expect(service.opened.length).toBeGreaterThan(8);
    expect(service.opened.length).toBeLessThan(40);
    // Each event takes two attempts, together they take longer than the outage may.
    const slow = Array.from({ length: 100 }, () => [...ends(1, 0), ...ends(1, 1)]).flat();
    expect((await follow(new BreakingService(101, slow), 60_000)).last.status).toBe("Success");
  });

  test("a stream that lasts is a connection, however long nothing happens", async () => {
    const clock = new IdleClock();
    let opened = 0;
    const open = async (): Promise<EventStream> => {
      const isLast = ++opened > 5;
      const events = (async function* (): AsyncGenerator<StreamedEvent> {
        await clock.sleep(10_000);
        if (isLast) yield { status: "Success", message: "Done", seq: 1 };
      })();
      return { deploymentId: "dep_1", events, [Symbol.dispose]: () => undefined };
    };
    const listener = { onEvent: () => undefined, onDisconnected: () => undefined, onReconnected: () => undefined };
    const signal = new AbortController().signal;
    const source = { start: open, resume: open };
    const options = { source, listener, retry: { giveUpAfterMs: 5_000, random: () => 0.5 }, clock, signal };
    expect(await followDeployment(options)).toMatchObject({ status: "Success" });
  });

  test("a refused first request is not retried", async () => {
    const refusal = new ServiceFailure("no", { httpStatus: 503 });
    const source = { start: () => Promise.reject(refusal), resume: () => Promise.reject(refusal) };
    const listener = { onEvent: () => undefined, onDisconnected: () => undefined, onReconnected: () => undefined };
    const signal = new AbortController().signal;
    const clock = new FakeClock();
    const following = followDeployment({
      source,
      listener,
      retry: { giveUpAfterMs: 1000, random: () => 0 },
      clock,
      signal,
    });
    await expect(following).rejects.toBe(refusal);
  });
});
