import { describe, expect, test } from "vitest";
import { uniqueName } from "../../support/images.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineHarness } from "./harness.ts";
import { expectKind, run, stateOf, unaborted, waitForState } from "./steps.ts";

export function logContract(harness: () => EngineHarness): void {
  describe("logs and restarts asked for", () => {
    test("output is followed until the container stops", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "a first end", ({ restartCount }) => restartCount >= 1);
      const lines: string[] = [];
      const cut = new AbortController();
      const followed = engine.followLogs(id, 50, (line) => lines.push(line), cut.signal).catch(() => undefined);
      await waitFor("both lines", () => lines.includes("starting") && lines.includes("cannot go on"));
      cut.abort();
      await followed;
    });

    test("following ends with the signal while the app runs and says nothing", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.sleeper);
      const reason = new Error("enough");
      const cut = new AbortController();
      const followed = engine.followLogs(id, 10, () => {}, cut.signal);
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
      await expectKind(
        harness().engine.followLogs(name, 1, () => {}, unaborted),
        "not_found",
      );
      await expectKind(harness().engine.restartContainer(name, unaborted), "not_found");
    });
  });
}
