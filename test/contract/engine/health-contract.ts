import { describe, expect, test } from "vitest";
import { create, run, unaborted, waitForState } from "./steps.ts";
import type { EngineHarness } from "./harness.ts";

export function healthContract(harness: () => EngineHarness): void {
  describe("health", () => {
    for (const [verdict, output] of [
      ["healthy", "fine"],
      ["unhealthy", "not yet"],
    ] as const) {
      test(`a container that has started comes to be ${verdict}`, async () => {
        const { id } = await run(harness(), harness().images[verdict]);
        const state = await harness().engine.inspectContainer(id, unaborted);
        expect(state).toMatchObject({ status: "running", health: "starting" });
        expect(state?.healthcheck).toEqual({
          intervalMs: 1_000,
          timeoutMs: 60_000,
          retries: 2,
          startPeriodMs: verdict === "healthy" ? 6_000 : 0,
        });
        const reached = await waitForState(harness(), id, verdict, (state) => {
          return state.health === verdict;
        });
        expect(reached).toMatchObject({ status: "running", healthOutput: output });
      });
    }

    test("the times of a health check are those the container was created with, also over the image's own", async () => {
      const { engine, images } = harness();
      const healthcheck = { command: ["true"], intervalS: 20, timeoutS: 4, retries: 5, startPeriodS: 90 };
      const expected = { intervalMs: 20_000, timeoutMs: 4_000, retries: 5, startPeriodMs: 90_000 };
      for (const image of [images.sleeper, images.unhealthy]) {
        const { id } = await create(harness(), image, { healthcheck });
        expect((await engine.inspectContainer(id, unaborted))?.healthcheck).toEqual(expected);
      }
      const { id } = await create(harness(), images.sleeper);
      expect((await engine.inspectContainer(id, unaborted))?.healthcheck).toBeUndefined();
    });
  });

  describe("logs", () => {
    test("the last lines of both outputs are returned, oldest first", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.crasher);
      await waitForState(harness(), id, "two restarts", (state) => state.restartCount >= 2);
      const lines = await engine.tailLogs(id, 3, unaborted);
      expect(lines).toHaveLength(3);
      expect(new Set(lines)).toEqual(new Set(["starting", "cannot go on"]));
      expect((await engine.tailLogs(id, 1000, unaborted)).slice(0, 2).toSorted()).toEqual(["cannot go on", "starting"]);
    });

    test("a container that has not run has none", async () => {
      const { engine, images } = harness();
      const { id } = await run(harness(), images.sleeper);
      expect(await engine.tailLogs(id, 10, unaborted)).toEqual([]);
    });
  });
}
