import type { FakeClock } from "./fake-clock.ts";
import { waitFor } from "./wait-for.ts";

/** Lets time pass in steps of a tenth of a second until the work is done, for work that waits for the clock. */
export async function whileTimePasses<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  await waitFor("the work to be done", async () => {
    if (!isDone) await clock.advance(100);
    return isDone;
  });
  return done;
}
