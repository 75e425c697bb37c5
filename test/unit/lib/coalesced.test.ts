import { expect, test } from "vitest";
import { Coalesced } from "../../../src/lib/coalesced.ts";

test("calls during a run are answered by one more run after it, also if it fails", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const work = new Coalesced(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  const first = work.run();
  const others = [work.run(), work.run(), work.run()];
  expect(runs).toHaveLength(1);
  runs[0]?.reject(new Error("no"));
  await expect(first).rejects.toThrow("no");
  expect(runs).toHaveLength(2);
  runs[1]?.resolve();
  await Promise.all(others);
  const alone = work.run();
  expect(runs).toHaveLength(3);
  runs[2]?.resolve();
  await alone;
});
