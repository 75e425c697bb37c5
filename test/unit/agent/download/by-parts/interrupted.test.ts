import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MemoryDevice, type MemoryLayer } from "../../../../support/download/memory-device.ts";
import { firstSeed, SeededRandom } from "../../../../support/chaos/seeded-random.ts";
import { type IndexedTar, indexTar } from "../../../../support/layer-parts/indexed-layer.ts";
import { diffIdOf, randomBytes, tarOf } from "../../../../support/layer-parts/tars.ts";
import { zstdChunkedBlob } from "../../../../support/layer-parts/zstd-chunked-blob.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

/*
 * An update by parts is killed at every request and at every piece that arrives, also twice, and the files on flash are what a
 * power cut at any write leaves of them. `CHAOS=full` tries more cuts.
 */

const CUTS = process.env["CHAOS"] === "full" ? 30 : 1;
const TIMEOUT_MS = CUTS * 60_000;
const NEW_EVERY = 4;
const seed = firstSeed();
const SAME = Array.from({ length: 30 }, (_, index) => ({
  name: `same-${index}`,
  content: randomBytes(20_000, `same ${index}`),
}));
const versionOf = (version: number) =>
  tarOf(
    SAME.flatMap((file, index) =>
      index % NEW_EVERY > 0
        ? [file]
        : [file, { name: `new-${index}`, content: randomBytes(8_000, `${version} ${index}`) }],
    ),
  );

let old: Buffer;
let tar: Buffer;
let index: IndexedTar;
beforeAll(async () => {
  [old, tar] = [await versionOf(1), await versionOf(2)];
  index = await indexTar(tar);
});
let directory: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

const expectWhole = ({ got }: { readonly got: unknown }, what: string): void => {
  expect(Buffer.isBuffer(got) && got.equals(tar), what).toBe(true);
};

describe.each(["an index", "zstd:chunked"])("an update by %s", (kind) => {
  let layer: MemoryLayer | undefined;

  /** Plans and downloads as after a start of the agent. @param killAt number of the step; 0: never */
  const run = async (path: string, killAt: number) => {
    let steps = 0;
    const device = new MemoryDevice({ directory: path, onStep: () => ++steps === killAt });
    device.images.set(`sha256:${"0".repeat(64)}`, old);
    const diffId = diffIdOf(tar);
    layer ??=
      kind === "an index"
        ? { blob: gzipSync(tar), diffId }
        : { ...zstdChunkedBlob(tar), mediaType: "application/vnd.oci.image.layer.v1.tar+zstd" };
    const image = device.publish(layer);
    if (kind === "an index") device.publishIndex(image, index);
    const got = await device.download(image).catch((error: unknown) => error);
    return { got, steps, received: device.received, layerSize: layer.blob.length };
  };

  test("goes on after a kill at any step, and pays for nothing twice", async () => {
    const straight = await run(join(directory.path, "straight"), 0);
    expectWhole(straight, "not killed");
    expect(straight.received).toBeLessThan(straight.layerSize / 3);
    expect(straight.steps).toBeGreaterThan(10);
    for (let at = 1; at <= straight.steps; at++) {
      const path = join(directory.path, String(at));
      const first = await run(path, at);
      expect(first.got).toMatchObject({ message: "killed" });
      const second = await run(path, 3);
      const third = await run(path, 0);
      expectWhole(third, `killed at step ${at}`);
      const received = first.received + second.received + third.received;
      // What was on its way when the agent was killed.
      expect(received, `killed at step ${at}`).toBeLessThanOrEqual(straight.received + 2 * 16 * 1024);
    }
  });

  test(
    "goes on after a power cut at any write, with a part of what was written, or garbage at its end",
    { timeout: TIMEOUT_MS },
    async () => {
      const random = new SeededRandom(seed);
      const { steps } = await run(join(directory.path, "straight"), 0);
      for (let at = 1; at <= steps; at++) {
        for (let cut = 0; cut < CUTS; cut++) {
          const what = `seed ${seed}, power cut at step ${at}, ${cut}`;
          const path = join(directory.path, `${at}-${cut}`);
          const first = await run(path, at);
          loseTail(join(path, "downloads"), random);
          loseTail(join(path, "image-contents"), random);
          const second = await run(path, 0);
          expectWhole(second, what);
          expect(first.received + second.received, what).toBeLessThan(second.layerSize * 1.02);
        }
      }
    },
  );
});

/** Leaves of each file what a power cut may leave: nothing after a random byte, or bytes that were never written there. */
function loseTail(path: string, random: SeededRandom): void {
  for (const name of readNames(path)) {
    const file = join(path, name);
    const bytes = readFileSync(file);
    const kept = random.between(0, bytes.length);
    const rest = random.pick([
      Buffer.alloc(0),
      Buffer.alloc(bytes.length - kept),
      Buffer.alloc(bytes.length - kept, 0xa5),
    ]);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, kept), rest]));
  }
}

function readNames(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
