import { describe, expect, onTestFinished, test } from "vitest";
import { decisionOn } from "../../../src/agent/core/app/container-decision.ts";
import { LABELS, leftoverName } from "../../../src/agent/core/app/container.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { removeOrSetAside } from "../../../src/agent/steps/leftovers.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import type { EngineHarness } from "./harness.ts";
import { create, expectKind, run, stateOf, unaborted } from "./steps.ts";

async function listed({ engine }: EngineHarness, id: string) {
  return (await engine.listContainers(unaborted)).find((container) => container.id === id);
}

/** The states in which people and failures leave a container, as the table of decisions takes them. */
export function stateContract(harness: () => EngineHarness): void {
  describe("container states", () => {
    test("a paused container is up, cannot be started, and is stopped, started and removed like one that runs", async () => {
      const { engine, images, pause } = harness();
      const { id } = await run(harness(), images.sleeper);
      await pause(id);
      expect((await stateOf(harness(), id)).status).toBe("paused");
      expect((await listed(harness(), id))?.status).toBe("paused");
      expect(decisionOn("paused").isUp).toBe(true);
      await expect(engine.startContainer(id, unaborted)).rejects.toBeInstanceOf(EngineError);
      await engine.stopContainer(id, 0, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("exited");
      await engine.startContainer(id, unaborted);
      expect((await stateOf(harness(), id)).status).toBe("running");
      await pause(id);
      await engine.removeContainer(id, unaborted);
      expect(await engine.inspectContainer(id, unaborted)).toBeUndefined();
    });

    test("a container that cannot be removed is gone, or a leftover that gives up its name", async () => {
      const { engine, images, obstructRemoval } = harness();
      const app = uniqueName("app");
      const { id } = await run(harness(), images.sleeper, { name: app, labels: { [LABELS.app]: app } });
      const obstacle = await obstructRemoval(id);
      onTestFinished(() => obstacle[Symbol.asyncDispose]());
      await engine.stopContainer(id, 0, unaborted);

      const left = await removeOrSetAside(engine, id, unaborted);
      // Docker with containerd's image store removes the files later, and Podman never.
      if (left) {
        expect(left).toMatchObject({
          id,
          app,
          name: leftoverName(app, id),
          reason: /failed to remove root filesystem/,
        });
        await expectKind(engine.removeContainer(id, unaborted), "not_removable");
        for (const status of [(await stateOf(harness(), id)).status, (await listed(harness(), id))!.status])
          expect(decisionOn(status)).toMatchObject({ isUp: false, isLeftover: true, whenToRun: "replace" });
        await expectKind(engine.startContainer(id, unaborted), "conflict");
      }
      await create(harness(), images.sleeper, { name: app });

      await obstacle[Symbol.asyncDispose]();
      expect(await removeOrSetAside(engine, id, unaborted)).toBeUndefined();
      expect(await engine.inspectContainer(id, unaborted)).toBeUndefined();
    });
  });
}
