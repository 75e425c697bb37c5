import { expect, test } from "vitest";
import { Repeat } from "../../../src/lib/repeat.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("runs after each pause, which begins at the end of a run, until disposed", async () => {
  const clock = new FakeClock();
  const runs: PromiseWithResolvers<void>[] = [];
  const repeat = new Repeat(clock, 1_000, () => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  await clock.advance(999);
  expect(runs).toHaveLength(0);
  await clock.advance(1);
  expect(runs).toHaveLength(1);
  await clock.advance(10_000);
  expect(runs).toHaveLength(1);
  runs[0]!.resolve();
  await clock.advance(1_000);
  expect(runs).toHaveLength(2);
  repeat[Symbol.dispose]();
  runs[1]!.resolve();
  await clock.advance(10_000);
  expect(runs).toHaveLength(2);
  expect(clock.pending).toBe(0);
});

test("disposed during a pause, it does not run again", async () => {
  const clock = new FakeClock();
  let runs = 0;
  const repeat = new Repeat(clock, 1_000, async () => runs++);
  await clock.advance(1_500);
  repeat[Symbol.dispose]();
  await clock.advance(10_000);
  expect(runs).toBe(1);
  expect(clock.pending).toBe(0);
});
