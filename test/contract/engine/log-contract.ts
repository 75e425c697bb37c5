import { describe, expect, test } from "vitest";
import { nanoseconds } from "../../../src/agent/core/log-time.ts";
import type { LogLine } from "../../../src/agent/engine/engine.ts";
import { uniqueName } from "../../support/images.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineHarness } from "./harness.ts";
import { expectKind, run, stateOf, unaborted, waitForState } from "./steps.ts";

export function logContract(harness: () => EngineHarness): void {
  describe("logs and restarts asked for", () => {
    test("output is read with its stream and time, from one moment to its end", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher, { restartPolicy: "no" });
      await waitForState(harness(), id, "its end", ({ status }) => status === "exited");
      const all = await collect(engine.readLogs(id, { tail: 10, follow: false }, unaborted));
      expect(all.map(({ text }) => text).toSorted()).toEqual(["cannot go on", "starting"]);
      for (const { timestamp, truncated } of all) {
        expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
        expect(truncated).toBe(false);
      }
      const last = all.at(-1)!;
      const since = nanoseconds(last.timestamp)!;
      expect(await collect(engine.readLogs(id, { tail: 10, since, follow: false }, unaborted))).toContainEqual(last);
      expect(await collect(engine.readLogs(id, { tail: 10, since: since + 1n, follow: false }, unaborted))).toEqual([]);
    });

    test("output is followed until the container stops", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "a first end", ({ restartCount }) => restartCount >= 1);
      const followed = await collect(engine.readLogs(id, { tail: 50, follow: true }, unaborted));
      expect(followed.map(({ text }) => text)).toEqual(expect.arrayContaining(["starting", "cannot go on"]));
    });

    test("following ends with the signal while the app runs and says nothing", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.sleeper);
      const reason = new Error("enough");
      const cut = new AbortController();
      const followed = collect(engine.readLogs(id, { tail: 10, follow: true }, cut.signal));
      setTimeout(() => cut.abort(reason), 100);
      await expect(followed).rejects.toBe(reason);
    });

    test("an app is restarted: another run of the same container", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.sleeper);
      const before = await stateOf(harness(), id);
      await waitFor("a later moment", () => Date.now() > Date.parse(before.startedAt) + 1);
      await engine.restartContainer(id, unaborted);
      const after = await waitForState(harness(), id, "another run", ({ startedAt }) => startedAt !== before.startedAt);
      expect(after).toMatchObject({ id, status: "running" });
    });

    test("what is not there has no log to follow and cannot be restarted", async () => {
      const name = uniqueName("nobody");
      await expectKind(harness().engine.readLogs(name, { tail: 1, follow: true }, unaborted).next(), "not_found");
      await expectKind(harness().engine.restartContainer(name, unaborted), "not_found");
    });
  });
}

async function collect(batches: AsyncIterable<readonly LogLine[]>): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  for await (const batch of batches) lines.push(...batch);
  return lines;
}
