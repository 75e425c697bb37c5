import { expect, test } from "vitest";
import { plainTrace, type PathTrace } from "../../../src/agent/core/path-trace.ts";
import { PathTracer } from "../../../src/agent/host/path-tracer.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a file system that never answers holds up nothing else, and takes no more than two threads", async () => {
  const clock = new FakeClock();
  const begun: string[] = [];
  const free: (() => void)[] = [];
  const tracer = new PathTracer(clock, (path) => {
    begun.push(path);
    if (!path.startsWith("/net")) return Promise.resolve(plainTrace(path));
    return new Promise<PathTrace>((resolve) => free.push(() => resolve(plainTrace(path))));
  });
  expect(await tracer.trace("/data")).toEqual(plainTrace("/data"));
  const lost = ["/net/a", "/net/b", "/net/c", "/net/a"].map((path) => tracer.trace(path));
  await clock.advance(2_000);
  for (const { unseen } of await Promise.all(lost)) expect(unseen?.reason).toBe("ETIMEDOUT");
  // Asked again, a call that did not return is not made again.
  const again = tracer.trace("/net/a");
  await clock.advance(2_000);
  expect((await again).unseen?.reason).toBe("ETIMEDOUT");
  expect(begun).toEqual(["/data", "/net/a", "/net/b"]);

  for (let resolve = free.shift(); resolve; resolve = free.shift()) {
    resolve();
    await clock.advance(0);
  }
  expect(await tracer.trace("/data")).toEqual(plainTrace("/data"));
  expect(clock.pending).toBe(0);
});
