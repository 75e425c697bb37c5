import { describe, expect, test } from "vitest";
import { uniqueName } from "../../support/images/load-image.ts";
import type { EngineHarness } from "./harness.ts";
import { create, expectKind, run, unaborted } from "./steps.ts";

const APP = uniqueName("filed");
const LABELS = { "io.edge-agent.app": APP, "io.edge-agent.state-dir": "/nowhere" };
const OWNER = { uid: 1000, gid: 3_000_000 };

const CONTENT = Buffer.from("listener 1883\n");
const BINARY = Buffer.from([0, 1, 2, 255]);

export function placedFileContract(harness: () => EngineHarness): void {
  async function helpers(): Promise<readonly string[]> {
    const listed = await harness().engine.listContainers(unaborted);
    return listed.filter(({ labels }) => labels["io.edge-agent.helper"] === APP).map(({ name }) => name);
  }

  describe("placed files", () => {
    test("are written with their owners and modes, and read back", async () => {
      const { engine, images, files } = harness();
      const directory = await files.directory();
      await engine.writeDeviceFiles(
        {
          image: images.ownUser,
          labels: LABELS,
          directory,
          files: [
            { name: "0", content: CONTENT, owner: OWNER, mode: 0o400 },
            { name: "1", content: BINARY, owner: { uid: 7, gid: 8 }, mode: 0o644 },
            { name: "2", content: new Uint8Array(), owner: OWNER, mode: 0o444 },
          ],
        },
        unaborted,
      );
      expect(await files.look(`${directory}/0`)).toMatchObject({ owner: OWNER, mode: 0o400 });
      expect(await files.look(`${directory}/1`)).toMatchObject({ owner: { uid: 7, gid: 8 }, mode: 0o644 });
      const reading = { image: images.sleeper, labels: LABELS, directory, maxBytes: CONTENT.length };
      const found = await engine.readDeviceFiles({ ...reading, names: ["0", "1", "2", "none"] }, unaborted);
      expect(found.map((content) => content && Buffer.from(content))).toEqual([
        CONTENT,
        BINARY,
        Buffer.of(),
        undefined,
      ]);
      const short = await engine.readDeviceFiles({ ...reading, names: ["0"], maxBytes: 3 }, unaborted);
      expect(short).toEqual([undefined]);
      expect(await helpers()).toEqual([]);
    });

    test("cannot be written or read where there is no directory, which is not made", async () => {
      const { engine, images, files } = harness();
      const directory = `${await files.directory()}/none`;
      const place = { image: images.sleeper, labels: LABELS, directory };
      const entry = { name: "0", content: CONTENT, owner: OWNER, mode: 0o400 };
      await expectKind(engine.writeDeviceFiles({ ...place, files: [entry] }, unaborted), "mount_missing");
      await expectKind(engine.readDeviceFiles({ ...place, names: ["0"], maxBytes: 9 }, unaborted), "mount_missing");
      expect(await files.look(directory)).toBeUndefined();
      expect(await helpers()).toEqual([]);
    });

    test("are mounted read-only, and missing at a start where one has gone", async () => {
      const { engine, images, files } = harness();
      const directory = await files.directory();
      const names = ["0", "1"];
      const written = names.map((name) => ({ name, content: CONTENT, owner: OWNER, mode: 0o444 }));
      await engine.writeDeviceFiles({ image: images.sleeper, labels: LABELS, directory, files: written }, unaborted);
      const mounted = names.map((name) => ({ source: `${directory}/${name}`, target: `/new/place/${name}.conf` }));
      const volumes = [{ local: directory, target: "/data", readonly: false }];
      const { id } = await run(harness(), images.sleeper, { files: mounted, volumes });
      const config = await engine.readContainerConfig(id, unaborted);
      expect(byTarget(config!.volumes)).toEqual(
        byTarget([...volumes, ...mounted.map(({ source, target }) => ({ local: source, target, readonly: true }))]),
      );
      const second = await create(harness(), images.sleeper, { files: mounted });
      await files.remove(`${directory}/1`);
      const answer = engine.startContainer(second.id, unaborted);
      await expectKind(answer, "mount_missing");
      await expect(answer).rejects.toMatchObject({ path: `${directory}/1` });
      await engine.writeDeviceFiles({ image: images.sleeper, labels: LABELS, directory, files: written }, unaborted);
      await engine.startContainer(second.id, unaborted);
    });

    test("are mounted as a whole directory, read-only, which is missing at a start where it has gone", async () => {
      const { engine, images, files } = harness();
      const directory = await files.directory();
      const written = [{ name: "0", content: CONTENT, owner: OWNER, mode: 0o444 }];
      await engine.writeDeviceFiles({ image: images.sleeper, labels: LABELS, directory, files: written }, unaborted);
      const mounted = ["/conf", "/new/place"].map((target) => ({ source: directory, target }));
      const { id } = await run(harness(), images.ownUser, { files: mounted });
      const config = await engine.readContainerConfig(id, unaborted);
      expect(byTarget(config!.volumes)).toEqual(
        mounted.map(({ source, target }) => ({ local: source, target, readonly: true })),
      );
      const second = await create(harness(), images.ownUser, { files: mounted });
      await files.remove(directory);
      const answer = engine.startContainer(second.id, unaborted);
      await expectKind(answer, "mount_missing");
      await expect(answer).rejects.toMatchObject({ path: directory });
    });
  });
}

function byTarget<T extends { readonly target: string }>(entries: readonly T[]): T[] {
  return entries.toSorted((one, other) => (one.target < other.target ? -1 : 1));
}
