import { createHash } from "node:crypto";
import { pino } from "pino";
import { pack } from "tar-stream";
import { expect, test } from "vitest";
import { ContentIndex } from "../../../../src/agent/contents/content-index.ts";
import { DeviceContents } from "../../../../src/agent/contents/device-contents.ts";
import { ImagesInUse } from "../../../../src/agent/contents/images-in-use.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const idOf = (name: string): string => `sha256:${createHash("sha256").update(name).digest("hex")}`;

/** Each image has one file, with its first name. */
function engineWith(images: readonly (readonly string[])[], lost: readonly string[] = []) {
  const engineImages = images.map((names) => ({ id: idOf(names[0] ?? ""), size: 1_000, names, repoDigests: [] }));
  return {
    listImages: async () => engineImages,
    async *exportImage({ image }: { readonly image: string }): AsyncGenerator<Uint8Array> {
      if (lost.includes(image)) throw new Error("no such image");
      const tar = pack();
      tar.entry({ name: "a" }, engineImages.find(({ id }) => id === image)?.names[0] ?? "");
      tar.finalize();
      yield* tar as AsyncIterable<Uint8Array>;
    },
  };
}

async function load(engine: ReturnType<typeof engineWith>, repository: string): Promise<string[]> {
  await using directory = await tempDir();
  const logger = pino({ level: "silent" });
  const index = new ContentIndex(directory.path, () => 0);
  const options = {
    engine,
    index,
    inUse: new ImagesInUse(),
    stateDir: directory.path,
    clock: systemClock,
    logger,
    collectYoung: () => {},
  };
  const loaded = await new DeviceContents(options).load(repository, "app", AbortSignal.timeout(240_000));
  return loaded.map(({ imageId }) => imageId);
}

const others = Array.from({ length: 20 }, (_, number) => [`registry.example.com/other/${number}:1`]);

test("of many images, those of the repository are read first, then those of its path in another registry", async () => {
  const elsewhere = ["127.0.0.1:41027/team/app:1"];
  const kin = ["local:1", "registry.example.com/team/app:1"];
  const loaded = await load(engineWith([...others, elsewhere, kin]), "registry.example.com/team/app");
  expect(loaded.slice(0, 2)).toEqual([idOf("local:1"), idOf("127.0.0.1:41027/team/app:1")]);
  expect(loaded).toHaveLength(8);
});

test("an image that cannot be read is left out", async () => {
  const engine = engineWith([["team/app:1"], ["team/app:2"]], [idOf("team/app:1")]);
  expect(await load(engine, "docker.io/team/app")).toEqual([idOf("team/app:2")]);
});
