import { describe, expect, test } from "vitest";
import type { PullProgress } from "../../../src/agent/engine/engine.ts";
import { expectKind, unaborted } from "./steps.ts";
import type { EngineHarness } from "./harness.ts";

const ignore = (): void => {};

export function pullContract(harness: () => EngineHarness): void {
  describe("pull", () => {
    test("brings an image and reports progress that never goes back", async () => {
      const { engine, pullable } = harness();
      expect(await engine.inspectImage(pullable.present, unaborted)).toBeUndefined();
      const seen: PullProgress[] = [];
      const facts = await engine.pullImage(pullable.present, (progress) => seen.push(progress), unaborted);
      expect(await engine.inspectImage(pullable.present, unaborted)).toEqual(facts);
      const { architecture } = await engine.info(unaborted);
      expect(facts).toMatchObject({ os: "linux", architecture });
      expect(facts.size).toBeGreaterThan(0);
      expect(facts.repoDigests[0]).toMatch(/@sha256:[0-9a-f]{64}$/);
      for (const [index, { done, total }] of seen.entries()) {
        expect(done).toBeGreaterThanOrEqual(seen[index - 1]?.done ?? 0);
        expect(total).toBeGreaterThanOrEqual(done);
      }
      expect(seen.at(-1)?.done).toBeGreaterThan(0);
      expect(seen.at(-1)?.done).toBe(seen.at(-1)?.total);
    });

    test("the layers of a pulled image are known", async () => {
      const { engine, pullable } = harness();
      await engine.pullImage(pullable.present, ignore, unaborted);
      const facts = await engine.inspectImage(pullable.present, unaborted);
      const chain = (await engine.layerChains(unaborted)).find(({ imageId }) => imageId === facts?.id);
      expect(chain).toMatchObject({ isFromRegistry: true });
      expect(chain?.diffIds.length).toBeGreaterThan(1);
      for (const id of chain?.diffIds ?? []) expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
    });

    test("an image can be pulled again", async () => {
      const { engine, pullable } = harness();
      await engine.pullImage(pullable.present, ignore, unaborted);
      await engine.pullImage(pullable.present, ignore, unaborted);
      expect(await engine.inspectImage(pullable.present, unaborted)).toBeDefined();
    });

    test.each([
      ["missing", "image_not_found"],
      ["denied", "image_denied"],
      ["otherPlatform", "wrong_platform"],
      ["unreachable", "registry_unreachable"],
    ] as const)("of an image that is %s fails with %s", async (which, kind) => {
      const { engine, pullable } = harness();
      await expectKind(engine.pullImage(pullable[which], ignore, unaborted), kind);
      expect(await engine.inspectImage(pullable[which], unaborted)).toBeUndefined();
    });

    test("rejects with the reason when it is aborted", async () => {
      const { engine, pullable } = harness();
      const abort = new AbortController();
      const pulling = engine.pullImage(pullable.large, () => abort.abort(new Error("enough")), abort.signal);
      await expect(pulling).rejects.toThrow("enough");
      expect(await engine.inspectImage(pullable.large, unaborted)).toBeUndefined();
    });
  });
}
