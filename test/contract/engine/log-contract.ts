import { describe, expect, test } from "vitest";
import { uniqueName } from "../../support/images.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineHarness } from "./harness.ts";
import { expectKind, run, unaborted, waitForState } from "./steps.ts";

export function logContract(harness: () => EngineHarness): void {
  describe("logs that are followed", () => {
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

    test("what is not there has no log to follow", async () => {
      const name = uniqueName("nobody");
      await expectKind(
        harness().engine.followLogs(name, 1, () => {}, unaborted),
        "not_found",
      );
    });
  });
}
