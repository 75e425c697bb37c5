import { expect, test } from "vitest";
import { StoreScrubber } from "../../../../src/agent/daemon/store-scrubber.ts";
import { captureLogText } from "../../../support/captured-log.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

type Line = Readonly<Record<string, unknown>>;

function setUp() {
  const clock = new FakeClock();
  const log = captureLogText();
  const listeners = new Set<() => void>();
  const state = { hasResidualData: false, isBroken: false, scrubbed: 0, swept: 0 };
  const store = {
    get hasResidualData() {
      return state.hasResidualData;
    },
    scrub() {
      if (state.isBroken) throw new Error("the disk has no room");
      state.hasResidualData = false;
      state.scrubbed++;
    },
    onResidualData(listener: () => void) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
  };
  const stopping = new AbortController();
  const removeOldCopies = (): boolean => ++state.swept === 2;
  const scrubber = new StoreScrubber({ store, removeExpiredQuarantine: removeOldCopies, clock, logger: log.logger });
  const done = scrubber.run(stopping.signal);
  const write = (): void => {
    state.hasResidualData = true;
    for (const listener of listeners) listener();
  };
  const stop = async (): Promise<void> => {
    stopping.abort();
    await done;
  };
  const lines = (): Line[] =>
    log
      .text()
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Line]));
  return { clock, lines, state, write, stop, listeners };
}

test("residual data is overwritten after a pause in writes; without any, nothing is written", async () => {
  const { clock, state, write, stop } = setUp();
  await clock.advance(3_600_000);
  expect(state.scrubbed).toBe(0);
  for (let count = 0; count < 5; count++) {
    write();
    await clock.advance(9_000);
  }
  expect(state.scrubbed).toBe(0);
  await clock.advance(1_000);
  expect(state.scrubbed).toBe(1);
  await stop();
});

test("it is overwritten after five minutes at the latest, even if writes go on", async () => {
  const { clock, state, write, stop } = setUp();
  for (let second = 0; second < 300; second += 5) {
    write();
    await clock.advance(5_000);
  }
  expect(state.scrubbed).toBe(1);
  await stop();
});

test("a failure is logged once, and retried", async () => {
  const { clock, lines, state, write, stop } = setUp();
  state.isBroken = true;
  write();
  await clock.advance(10_000);
  write();
  await clock.advance(3_600_000);
  expect(lines().filter(({ level }) => level === 40)).toMatchObject([{ reason: "the disk has no room" }]);
  state.isBroken = false;
  await clock.advance(300_000);
  expect(state.scrubbed).toBe(1);
  await stop();
});

test("expired copies are removed twice a day, and no timer is left after the stop", async () => {
  const { clock, lines, state, write, stop, listeners } = setUp();
  await clock.advance(13 * 3_600_000);
  expect(state.swept).toBe(2);
  expect(lines().map(({ msg }) => msg)).toEqual(["removed the copy of a damaged store, which was 30 days old"]);
  write();
  await stop();
  expect([clock.pending, listeners.size]).toEqual([0, 0]);
});
