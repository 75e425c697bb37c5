import { describe, expect, test } from "vitest";
import { nanoseconds } from "../../../src/agent/core/logs/time.ts";
import type { LogLine } from "../../../src/agent/engine/engine.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineHarness } from "./harness.ts";
import { expectKind, run, unaborted, waitForState } from "./steps.ts";

export function logContract(harness: () => EngineHarness): void {
  describe("logs that are read and followed", () => {
    test("output is read with stream and timestamp, from a given time to its end", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher, { restartPolicy: "no" });
      await waitForState(harness(), id, "its end", ({ status }) => status === "exited");
      const all = await collect(engine.readLogs(id, { tail: 10, follow: false }, unaborted));
      expect(all.map(({ text }) => text).toSorted()).toEqual(["cannot go on", "starting"]);
      for (const { time, truncated } of all) {
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
        expect(truncated).toBe(false);
      }
      const last = all.at(-1)!;
      const since = nanoseconds(last.time)!;
      expect(await collect(engine.readLogs(id, { tail: 10, since, follow: false }, unaborted))).toContainEqual(last);
      expect(await collect(engine.readLogs(id, { tail: 10, since: since + 1n, follow: false }, unaborted))).toEqual([]);
    });

    test("all output before a time is read, however much follows", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "a second end", ({ restartCount }) => restartCount >= 2);
      const read = () => collect(engine.readLogs(id, { tail: Infinity, follow: false }, unaborted));
      // Podman's times have whole seconds: several runs of the app may have the same.
      const all = await waitFor("output of two times", async () => {
        const lines = await read();
        return new Set(timesOf(lines)).size > 1 ? lines : undefined;
      });
      const until = timesOf(all)
        .toSorted((one, other) => Number(one - other))
        .at(-1)!;
      const before = await collect(engine.readLogs(id, { tail: Infinity, until, follow: false }, unaborted));
      expect(before).toEqual(all.filter(({ time }) => nanoseconds(time)! < until).slice(0, before.length));
      expect(before.map(({ text }) => text)).toContain("starting");
      expect(await collect(engine.readLogs(id, { tail: Infinity, until: 1n, follow: false }, unaborted))).toEqual([]);
    });

    test("output is followed until the container stops", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "a first end", ({ restartCount }) => restartCount >= 1);
      const followed = await collect(engine.readLogs(id, { tail: 50, follow: true }, unaborted));
      expect(followed.map(({ text }) => text)).toEqual(expect.arrayContaining(["starting", "cannot go on"]));
    });

    test("following ends with the signal while the app runs silently", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.sleeper);
      const reason = new Error("enough");
      const cut = new AbortController();
      const followed = collect(engine.readLogs(id, { tail: 10, follow: true }, cut.signal));
      setTimeout(() => cut.abort(reason), 100);
      await expect(followed).rejects.toBe(reason);
    });

    test("following the log of a missing container is an error", async () => {
      const name = uniqueName("nobody");
      await expectKind(harness().engine.readLogs(name, { tail: 1, follow: true }, unaborted).next(), "not_found");
    });
  });
}

/** In nanoseconds since 1970. */
function timesOf(lines: readonly LogLine[]): bigint[] {
  return lines.map(({ time }) => nanoseconds(time)!);
}

async function collect(batches: AsyncIterable<readonly LogLine[]>): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const batch of batches) lines.push(...batch);
  return lines;
}
