import { expect, test } from "vitest";
import { pathWithoutLinks, type ResolvedPath } from "../../../src/agent/core/policy/resolved-path.ts";
import { PathResolver } from "../../../src/agent/host/path-resolver.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a file system that never responds blocks nothing else, and uses at most two threads", async () => {
  const clock = new FakeClock();
  const begun: string[] = [];
  const free: (() => void)[] = [];
  const tracer = new PathResolver(clock, (path) => {
    begun.push(path);
    if (!path.startsWith("/net")) return Promise.resolve(pathWithoutLinks(path));
    return new Promise<ResolvedPath>((resolve) => free.push(() => resolve(pathWithoutLinks(path))));
  });
  expect(await tracer.resolve("/data")).toEqual(pathWithoutLinks("/data"));
  const lost = ["/net/a", "/net/b", "/net/c", "/net/a"].map((path) => tracer.resolve(path));
  await clock.advance(2_000);
  for (const { unresolved } of await Promise.all(lost)) expect(unresolved?.reason).toBe("ETIMEDOUT");
  // A call that did not return is not repeated.
  const again = tracer.resolve("/net/a");
  await clock.advance(2_000);
  expect((await again).unresolved?.reason).toBe("ETIMEDOUT");
  expect(begun).toEqual(["/data", "/net/a", "/net/b"]);

  for (let resolve = free.shift(); resolve; resolve = free.shift()) {
    resolve();
    await clock.advance(0);
  }
  expect(await tracer.resolve("/data")).toEqual(pathWithoutLinks("/data"));
  expect(clock.pending).toBe(0);
});
