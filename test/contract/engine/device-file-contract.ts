import { describe, expect, test } from "vitest";
import type { DirectoryRequest } from "../../../src/agent/engine/engine.ts";
import { uniqueName } from "../../support/images/load-image.ts";
import { create, expectKind, run, unaborted } from "./steps.ts";
import type { EngineHarness } from "./harness.ts";
import { plainRequest } from "./harness.ts";

const APP = uniqueName("helped");
const LABELS = { "io.edge-agent.app": APP, "io.edge-agent.state-dir": "/nowhere" };

export function deviceFileContract(harness: () => EngineHarness): void {
  async function helpers(): Promise<readonly string[]> {
    const listed = await harness().engine.listContainers(unaborted);
    // Others may use the machine's engine at the same time.
    return listed.filter(({ labels }) => labels["io.edge-agent.helper"] === APP).map(({ name }) => name);
  }

  describe("files of the device", () => {
    test("a container with a missing volume is not created, and nothing is made", async () => {
      const { engine, images, files } = harness();
      const directory = await files.directory();
      for (const missing of ["missing", "with:colon", "more/than one"]) {
        const local = `${directory}/${missing}`;
        const volumes = [
          { local: directory, target: "/here", readonly: true },
          { local, target: "/data", readonly: false },
        ];
        const name = uniqueName("app");
        const answer = engine.createContainer(
          plainRequest(name, images.sleeper, { labels: LABELS, volumes }),
          unaborted,
        );
        await expectKind(answer, "mount_missing");
        await expect(answer).rejects.toMatchObject({ path: local });
        expect(await files.look(local)).toBeUndefined();
        expect(await engine.inspectContainer(name, unaborted)).toBeUndefined();
      }
      expect(await helpers()).toEqual([]);
    });

    test("a volume that has gone since the creation is missing at the start", async () => {
      const { engine, images, files } = harness();
      const local = `${await files.directory()}/gone`;
      await engine.makeDirectory(request(images.sleeper, local), unaborted);
      const { id } = await create(harness(), images.sleeper, {
        volumes: [{ local, target: "/data", readonly: false }],
      });
      await files.remove(local);
      const answer = engine.startContainer(id, unaborted);
      await expectKind(answer, "mount_missing");
      await expect(answer).rejects.toMatchObject({ path: local });
      expect(await files.look(local)).toBeUndefined();
    });

    test("a directory is made with its owner and mode, its parents as root's, and can be mounted", async () => {
      const { engine, images, files } = harness();
      const directory = await files.directory();
      const local = `${directory}/a b/${"long".repeat(40)}/data`;
      await engine.makeDirectory(
        { ...request(images.ownUser, local), owner: { uid: 1000, gid: 3_000_000 }, mode: 0o2770 },
        unaborted,
      );
      expect(await files.look(local)).toMatchObject({ owner: { uid: 1000, gid: 3_000_000 }, mode: 0o2770 });
      for (const parent of [`${directory}/a b`, `${directory}/a b/${"long".repeat(40)}`]) {
        expect(await files.look(parent)).toMatchObject({ owner: { uid: 0, gid: 0 }, mode: 0o755 });
      }
      await run(harness(), images.sleeper, { volumes: [{ local, target: "/data", readonly: false }] });
      expect(await helpers()).toEqual([]);
    });

    test("what is in the way of a directory stays as it is", async () => {
      const { engine, images, files } = harness();
      const directory = await files.directory();
      const link = `${directory}/link`;
      await files.brokenLink(link);
      const before = await files.look(link);
      const volumes = [{ local: link, target: "/data", readonly: false }];
      const answer = engine.createContainer(
        plainRequest(uniqueName("app"), images.sleeper, { labels: LABELS, volumes }),
        unaborted,
      );
      await expectKind(answer, "mount_missing");
      await expectKind(engine.makeDirectory(request(images.sleeper, link), unaborted), "conflict");
      await expectKind(engine.makeDirectory(request(images.sleeper, `${link}/below`), unaborted), "conflict");
      expect(await files.look(link)).toEqual(before);
      expect(await files.look(`${directory}/nowhere`)).toBeUndefined();
      expect(await helpers()).toEqual([]);
    });

    test("a directory that is there keeps its owner", async () => {
      const { engine, images, files } = harness();
      const local = `${await files.directory()}/data`;
      await engine.makeDirectory({ ...request(images.sleeper, local), owner: { uid: 5, gid: 6 } }, unaborted);
      await expectKind(engine.makeDirectory(request(images.sleeper, local), unaborted), "conflict");
      expect(await files.look(local)).toMatchObject({ owner: { uid: 5, gid: 6 } });
    });

    test("an image's paths are read without running it", async () => {
      const { engine, images, kind } = harness();
      const paths = ["/data", "/linked", "/conf/app.conf", "/none", "/conf/app.conf/below"];
      const found = await engine.readImagePaths(
        { image: images.ownUser, labels: LABELS, paths, maxBytes: 10 },
        unaborted,
      );
      // Podman does not tell owners.
      const owned = (uid: number, gid: number) => (kind === "podman" ? undefined : { uid, gid });
      const data = { kind: "directory", mode: 0o775, owner: owned(1000, 1000), content: undefined };
      expect(found.slice(0, 2)).toEqual([data, data]);
      expect(found[2]).toMatchObject({ kind: "file", mode: 0o640, owner: owned(7, 2_500_000) });
      expect(Buffer.from(found[2]!.content!).toString()).toBe("answer=42\n");
      expect(found.slice(3)).toEqual([undefined, undefined]);
      const [short] = await engine.readImagePaths(
        { image: images.ownUser, labels: LABELS, paths: ["/conf/app.conf"], maxBytes: 9 },
        unaborted,
      );
      expect(short?.content).toBeUndefined();
      expect((await engine.inspectImage(images.ownUser, unaborted))?.user).toBe("node");
      expect(await helpers()).toEqual([]);
    });

    test("nothing is read or made with an image that is not there", async () => {
      const { engine, files } = harness();
      const image = `localhost/${uniqueName("none")}:1`;
      const local = `${await files.directory()}/data`;
      await expectKind(engine.readImagePaths({ image, labels: LABELS, paths: ["/"] }, unaborted), "image_not_found");
      await expectKind(engine.makeDirectory(request(image, local), unaborted), "image_not_found");
      expect(await files.look(local)).toBeUndefined();
    });
  });
}

function request(image: string, path: string): DirectoryRequest {
  return { image, labels: LABELS, path, owner: { uid: 1000, gid: 1000 }, mode: 0o755 };
}
