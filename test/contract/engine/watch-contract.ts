import { describe, expect, test } from "vitest";
import type { ContainerChange } from "../../../src/agent/engine/engine.ts";
import { waitFor } from "../../support/wait-for.ts";
import type { EngineHarness } from "./harness.ts";
import { create, run, unaborted } from "./steps.ts";

export function watchContract(harness: () => EngineHarness): void {
  describe("watching containers", () => {
    test("reports the changes of one from its start to its removal, with its labels", async () => {
      const { engine, images } = harness();
      const cut = new AbortController();
      const seen: (ContainerChange | undefined)[] = [];
      const watching = (async () => {
        for await (const change of engine.watchContainers("io.example.app=watched", cut.signal)) seen.push(change);
      })();
      await waitFor("the watch", () => seen.length > 0);
      expect(seen[0]).toBeUndefined();
      const { id } = await create(harness(), images.sleeper, { labels: { "io.example.app": "watched" } });
      const other = await run(harness(), images.sleeper, { labels: { "io.example.app": "other" } });
      const told = () => seen.filter((change) => change?.id === id).length;
      for (const step of [
        () => engine.startContainer(id, unaborted),
        () => engine.stopContainer(id, 1_000, unaborted),
        () => engine.removeContainer(id, unaborted),
      ]) {
        const before = told();
        await step();
        await waitFor("the change", () => told() > before);
      }
      expect(seen.find((change) => change?.id === id)?.labels).toMatchObject({ "io.example.app": "watched" });
      expect(seen.find((change) => change?.id === other.id)).toBeUndefined();
      const reason = new Error("enough");
      cut.abort(reason);
      await expect(watching).rejects.toBe(reason);
    });
  });
}
