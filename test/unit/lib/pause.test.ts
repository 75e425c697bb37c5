import { expect, test } from "vitest";
import { pause, systemClock } from "../../../src/lib/clock.ts";

test("a pause ends early with its signal, without an error", async () => {
  const stop = new AbortController();
  const paused = pause(systemClock, 60_000, stop.signal);
  stop.abort(new Error("stopping"));
  await expect(paused).resolves.toBeUndefined();
  await expect(pause(systemClock, 60_000, stop.signal)).resolves.toBeUndefined();
});

test("an error of the clock is not taken for the signal's", async () => {
  const broken = { sleep: () => Promise.reject(new Error("broken")) };
  await expect(pause(broken, 1, new AbortController().signal)).rejects.toThrow("broken");
});
