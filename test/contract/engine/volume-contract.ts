import { describe, expect, onTestFinished, test } from "vitest";
import type { OwnerIds } from "../../../src/protocol/apps/volume-fields.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { create, expectKind, run, unaborted } from "./steps.ts";
import type { EngineHarness } from "./harness.ts";

const ID = uniqueName("agent");
const CONTAINER = { "io.edge-agent.app": ID, "io.edge-agent.state-dir": `/nowhere/${ID}` };
const LABEL = { key: "io.edge-agent.state-dir", value: `/nowhere/${ID}` };

const mounted = (name: string, target: string) => ({ namedVolumes: [{ name, target, readonly: false }] });

export function volumeContract(harness: () => EngineHarness): void {
  /** Makes a volume that goes with the test. */
  async function make(image: string, target: string, owner?: OwnerIds): Promise<string> {
    const name = uniqueName("volume");
    const { volumes } = harness().engine;
    onTestFinished(() => volumes.remove(name, unaborted));
    const labels = { [LABEL.key]: LABEL.value, "io.edge-agent.volume": "data" };
    await volumes.create({ name, labels, owner, container: { image, labels: CONTAINER, target } }, unaborted);
    return name;
  }

  describe("volumes of the engine", () => {
    test("a volume is found by its name and its label, and is gone once removed", async () => {
      const { engine, images } = harness();
      const { volumes } = engine;
      const name = await make(images.sleeper, "/data");
      const found = await volumes.find(name, unaborted);
      expect(found).toMatchObject({ name, labels: { [LABEL.key]: LABEL.value, "io.edge-agent.volume": "data" } });
      expect(found?.createdAt).toBeGreaterThan(1_700_000_000);
      expect((await volumes.list(LABEL, unaborted)).map((volume) => volume.name)).toEqual([name]);
      expect(await volumes.list({ ...LABEL, value: "/other" }, unaborted)).toEqual([]);
      await volumes.remove(name, unaborted);
      expect(await volumes.find(name, unaborted)).toBeUndefined();
      await volumes.remove(name, unaborted);
    });

    test("a volume begins with what the image has there, and its owner", async () => {
      const { images } = harness();
      const name = await make(images.ownUser, "/data");
      await run(harness(), images.ownUser, mounted(name, "/data"));
      expect(await harness().lookInVolume(name)).toMatchObject({ owner: { uid: 1000, gid: 1000 }, mode: 0o775 });
    });

    test("an empty volume that was there before is filled by the first container that mounts it", async () => {
      const { images } = harness();
      const name = await make(images.sleeper, "/nothing");
      const namedVolumes = [{ name, target: "/data", readonly: false, isExternal: true as const }];
      await run(harness(), images.ownUser, { namedVolumes });
      expect(await harness().lookInVolume(name)).toMatchObject({ owner: { uid: 1000, gid: 1000 }, mode: 0o775 });
    });

    test.each([
      ["/data", 0o775],
      ["/nothing/there", 0o755],
    ])("a volume at %s gets the owner that is asked for", async (target, mode) => {
      const { images } = harness();
      const owner = { uid: 5, gid: 3_000_000 };
      const name = await make(images.ownUser, target, owner);
      await run(harness(), images.ownUser, mounted(name, target));
      // Podman leaves the directory as it was made.
      const kept = harness().kind === "podman" ? 0o755 : mode;
      expect(await harness().lookInVolume(name)).toMatchObject({ owner, mode: kept });
      const helpers = (await harness().engine.listContainers(unaborted)).filter(
        ({ labels }) => labels["io.edge-agent.helper"] === ID,
      );
      expect(helpers).toEqual([]);
    });

    test("a volume stays when its containers are removed, and keeps its owner in the next", async () => {
      const { engine, images } = harness();
      const name = await make(images.sleeper, "/data", { uid: 5, gid: 6 });
      const { id } = await run(harness(), images.sleeper, mounted(name, "/data"));
      await expectKind(engine.volumes.remove(name, unaborted), "conflict");
      await engine.removeContainer(id, unaborted);
      expect(await engine.volumes.find(name, unaborted)).toBeDefined();
      const next = await run(harness(), images.ownUser, mounted(name, "/data"));
      expect(await harness().lookInVolume(name)).toMatchObject({ owner: { uid: 5, gid: 6 } });
      await engine.removeContainer(next.id, unaborted);
      await engine.volumes.remove(name, unaborted);
    });

    test("paths of the device and volumes of the engine are told apart when a container is read", async () => {
      const { engine, images, files } = harness();
      const local = await files.directory();
      const name = await make(images.sleeper, "/data");
      const readonly = { name, target: "/with:colon", readonly: true };
      const volumes = [{ local, target: "/here", readonly: true }];
      const { id } = await create(harness(), images.sleeper, {
        volumes,
        namedVolumes: [{ name, target: "/data", readonly: false }, readonly],
      });
      expect((await engine.readContainerConfig(id, unaborted))?.volumes).toEqual(volumes);
      await engine.startContainer(id, unaborted);
    });

    test("the size of a volume is measured", async () => {
      const { engine, images } = harness();
      const name = await make(images.sleeper, "/data");
      await create(harness(), images.sleeper, mounted(name, "/data"));
      expect((await engine.volumes.measure(unaborted)).get(name)).toBeGreaterThanOrEqual(0);
    });
  });
}
