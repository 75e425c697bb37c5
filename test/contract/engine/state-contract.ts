import { describe, expect, onTestFinished, test } from "vitest";
import { decisionOn } from "../../../src/agent/core/app/container-decision.ts";
import { LABELS, leftoverName } from "../../../src/agent/core/app/container.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { removeOrSetAside } from "../../../src/agent/steps/leftovers.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { type EngineHarness, plainRequest } from "./harness.ts";
import { create, expectKind, run, stateOf, unaborted } from "./steps.ts";

async function listed({ engine }: EngineHarness, id: string) {
  return (await engine.listContainers(unaborted)).find((container) => container.id === id);
}

const TRIED = uniqueName("tried");

/** Names of the helpers of trials that are there. */
async function trials({ engine }: EngineHarness): Promise<string[]> {
  const all = await engine.listContainers(unaborted);
  return all.filter(({ labels }) => labels["io.edge-agent.helper"] === TRIED).map(({ name }) => name);
}

/** The states in which people and failures leave a container, as the table of decisions takes them. */
export function stateContract(harness: () => EngineHarness): void {
  describe("a trial of a start", () => {
    test("needs no name and no port of the app, runs nothing of the image, and leaves nothing", async () => {
      const { engine, images, files } = harness();
      const ports = [{ hostPort: await freeHostPort(), targetPort: 80 }];
      const volumes = [{ local: await files.directory(), target: "/data", readonly: false }];
      const { name } = await run(harness(), images.sleeper, { ports, volumes });
      const options = { init: false, read_only: true, user: "1000" };
      const labels = { [LABELS.app]: TRIED };
      await engine.tryStart(plainRequest(name, images.sleeper, { ports, volumes, options, labels }), unaborted);
      expect(await trials(harness())).toEqual([]);
    });

    test("fails as the start would, also where a program would be missing too", async () => {
      const { engine, images, files } = harness();
      const gone = `${await files.directory()}/gone`;
      const volumes = [{ local: gone, target: "/data", readonly: false }];
      const request = plainRequest(uniqueName("app"), images.sleeper, { labels: { [LABELS.app]: TRIED } });
      await expectKind(engine.tryStart({ ...request, volumes }, unaborted), "mount_missing");
      expect(await files.look(gone)).toBeUndefined();
      const image = `localhost/${request.name}:1`;
      await expectKind(engine.tryStart({ ...request, image }, unaborted), "image_not_found");
      expect(await trials(harness())).toEqual([]);
    });
  });

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
