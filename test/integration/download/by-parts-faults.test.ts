import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import type { Engine } from "../../../src/agent/engine/engine.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { PartsRig } from "../../support/download/parts-rig.ts";
import { removeImage, uniqueName } from "../../support/images.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";
import type { PushedIndex } from "../../support/images/push-index.ts";
import type { Image } from "../../support/images.ts";
import { indexTar } from "../../support/layer-parts/indexed-layer.ts";
import { smallDisk, smallDiskUnavailableReason } from "../../support/small-disk.ts";
import { LossyLink } from "../../support/link/lossy-link.ts";
import { FaultyRegistry } from "../../support/registry/faulty-registry.ts";
import { RegistryProxy } from "../../support/registry/registry-proxy.ts";

const noDisk = (await smallDiskUnavailableReason()) !== undefined;
const docker = await dockerSocket();
const skip = docker === undefined;
const NEW_BYTES = 3_000_000;
/** Over a fast link, as much is on its way as the agent's buffers and the socket's take. */
const IN_FLIGHT = 700_000;

describe("layers from parts, where something is wrong", () => {
  const shared = new AsyncDisposableStack();
  let first: string;
  let second: Image;
  let pushed: PushedIndex;
  let publisher: PartsRig;
  let owned: AsyncDisposableStack;
  let rig: PartsRig;

  /** Version 2 is in the registry with an index. */
  beforeAll(async () => {
    if (skip) return;
    const seed = uniqueName("seed");
    publisher = shared.use(await PartsRig.start(docker));
    first = await publisher.push(await versionedImage({ seed, version: 1 }), "1");
    second = await versionedImage({ seed, version: 2, newBytes: NEW_BYTES });
    await publisher.push(second, "2");
    pushed = await publisher.index("2", second);
  });
  afterAll(() => shared.disposeAsync());

  /** The device has version 1, and nothing of version 2. */
  beforeEach(async () => {
    if (skip) return;
    owned = new AsyncDisposableStack();
    rig = owned.use(await PartsRig.beside(publisher));
    await rig.download(first);
  });
  afterEach(async () => {
    if (!skip) await owned.disposeAsync();
  });

  const at = (host: string): string => {
    const reference = `${host}/${rig.repository}:2`;
    owned.defer(() => removeImage(rig.socketPath, reference));
    return reference;
  };
  const layerSize = (): number => second.layers[1]?.compressed.length ?? 0;
  const packPath = (): string => pushed.packs[1]?.digest ?? "";

  const expectOnDevice = async (reference: string): Promise<void> => {
    const { id } = (await rig.engine.inspectImage(reference, AbortSignal.timeout(240_000))) ?? {};
    expect(id).toBe(second.id);
  };

  test.skipIf(skip)("over a link that is cut every 200 kB, with the agent killed twice", async () => {
    await using link = await LossyLink.to(rig.registry.port, { cutAfter: 200_000, bytesPerSecond: 20_000_000 });
    const reference = at(link.host);
    for (const after of [800_000, 1_600_000]) {
      const stopped = new AbortController();
      const download = rig.download(reference, stopped.signal, ({ done, received }) => {
        if (done >= after || received >= 800_000) stopped.abort(new Error("killed"));
      });
      await expect(download).rejects.toThrow("killed");
      rig.downloader = rig.newDownloader();
    }
    const { result, wholes } = await rig.download(reference);
    expect(wholes).toEqual([]);
    await expectOnDevice(reference);
    expect(result.cuts).toBeGreaterThan(3);
    // What was in flight when a connection was cut is paid for and lost; so is what the killed agent had not written.
    const lost = (link.cuts + 4) * 64 * 1024;
    expect(link.received).toBeLessThan(NEW_BYTES + 200_000 + lost);
  });

  test.skipIf(skip)("a registry that ignores ranges: the layer comes whole", async () => {
    await using faulty = await FaultyRegistry.before(rig.registry.port);
    faulty.fault = ({ path }) => (path.includes(packPath()) ? { kind: "no ranges" } : undefined);
    const reference = at(faulty.host);
    const { result, wholes } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(wholes).toEqual([expect.stringContaining("whole layer when it is asked for a range")]);
    expect(result.received).toBeLessThan(layerSize() * 1.02);
  });

  test.skipIf(skip)("a registry that answers with several ranges in one body: the layer comes whole", async () => {
    const multipart = { "Content-Type": "multipart/byteranges; boundary=x" };
    await using proxy = await RegistryProxy.start({
      upstream: rig.registry.host,
      intercept: ({ path, headers }) =>
        path.includes(packPath()) && headers.range !== undefined
          ? { status: 206, headers: multipart, body: "--x\r\n\r\n--x--" }
          : undefined,
    });
    const reference = at(proxy.host);
    const { wholes } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(wholes).toEqual([expect.stringContaining("another range")]);
  });

  test.skipIf(skip)("a pack that is gone from the registry: the layer comes whole", async () => {
    await using proxy = await RegistryProxy.start({
      upstream: rig.registry.host,
      intercept: ({ path }) => (path.includes(packPath()) ? { status: 404 } : undefined),
    });
    const reference = at(proxy.host);
    const { wholes } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(wholes).toHaveLength(1);
  });

  test.skipIf(skip)("wrong bytes in a range: it is fetched again, and nothing else", async () => {
    await using faulty = await FaultyRegistry.before(rig.registry.port);
    let corrupted = 0;
    faulty.fault = ({ path }) =>
      path.includes(packPath()) && corrupted++ === 0 ? { kind: "corrupt", at: 500 } : undefined;
    const reference = at(faulty.host);
    const { result, wholes, price } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(wholes).toEqual([]);
    expect(result.received).toBeGreaterThan(price);
    expect(result.received).toBeLessThan(price + NEW_BYTES / 2);
  });

  test.skipIf(skip).each<[string, (packBytes: number) => number]>([
    ["in the headers", (packBytes) => packBytes - 100],
    ["in the first new part", (packBytes) => packBytes - NEW_BYTES],
    ["in the middle of what is new", (packBytes) => packBytes - NEW_BYTES / 2],
    ["at the end of it", (packBytes) => packBytes - 100_000],
  ])("bytes that are always wrong, %s: that stops it, and the layer comes whole", async (_where, wrongIn) => {
    await using faulty = await FaultyRegistry.before(rig.registry.port);
    const wrongAt = wrongIn(pushed.packs[1]?.size ?? 0);
    let sent = 0;
    faulty.fault = ({ path, range }) => {
      const [, first = 0, last = 0] = (/^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? []).map(Number);
      if (!path.includes(packPath()) || wrongAt < first || wrongAt > last) return undefined;
      sent++;
      return { kind: "corrupt", at: wrongAt - first };
    };
    const reference = at(faulty.host);
    const { result, wholes } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(wholes).toHaveLength(1);
    expect(sent).toBe(2);
    // What came before is of no use for the whole layer, and the wrong part came twice.
    const { before, length } = await newPartAt(second, wrongAt);
    const lost = before + 2 * length + layerSize() * 0.02 + IN_FLIGHT;
    expect(result.received).toBeLessThan(layerSize() + lost);
  });

  test.skipIf(skip)("an index of another image: the layer comes whole", async () => {
    const other = await versionedImage({ seed: uniqueName("other"), version: 1 });
    const layers = second.layers.map((layer, index) => ({ ...layer, ...tarOf(other, index) }));
    await rig.index("2", { ...second, layers });
    owned.defer(async () => void (await rig.index("2", second)));
    const reference = at(rig.registry.host);
    const { result } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(result.received).toBe(layerSize());
  });

  test.skipIf(skip)("the old image is removed while its contents are used: what it lacks is fetched", async () => {
    const reference = at(rig.registry.host);
    await rig.downloader.planParts({ ...(await request(reference)), onReceived: () => {} });
    rig.downloader = rig.newDownloader({ engine: withExport(rig.engine, brokenOff) });
    const { result, wholes, price } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(wholes).toEqual([]);
    expect(result.received).toBeGreaterThan(price + 1_000_000);
    expect(result.received).toBeLessThan(layerSize() * 1.02);
  });

  test.skipIf(skip)("the old image is removed by a user between plan and use: what it had is fetched", async () => {
    await using link = await LossyLink.to(rig.registry.port, { bytesPerSecond: 2_000_000 });
    const reference = at(link.host);
    const old = (await rig.engine.inspectImage(first, AbortSignal.timeout(240_000)))?.id;
    let removal: Promise<unknown> | undefined;
    const totals: number[] = [];
    const { result, wholes, price } = await rig.download(reference, undefined, ({ total, received }) => {
      totals.push(total);
      if (received > 0) removal ??= removeImage(rig.socketPath, first);
    });
    await removal;
    await expectOnDevice(reference);
    const images = await rig.engine.listImages(AbortSignal.timeout(240_000));
    expect(images.map(({ id }) => id)).not.toContain(old);
    expect(wholes).toEqual([]);
    // The price grows to what was received, and whoever limits it is told before.
    expect(totals[0]).toBe(price);
    expect(totals.at(-1)).toBe(result.received);
    expect(result.received).toBeGreaterThan(price + 1_000_000);
    expect(link.received).toBeLessThan(layerSize() * 1.02);
    expect(await rig.parts.idle()).toEqual([]);
  });

  test.skipIf(skip)("no image can be read: nothing is taken from them", async () => {
    const reference = at(rig.registry.host);
    rig.downloader = rig.newDownloader({ engine: withExport(rig.engine, failing) });
    const { result } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(result.received).toBeLessThan(layerSize() * 1.02);
  });

  test.skipIf(skip)("the index of contents is lost, or wrong: it is made again, or costs a range", async () => {
    const reference = at(rig.registry.host);
    const directory = join(rig.directory, "image-contents");
    const plan = async (): Promise<number> => {
      const costs = await rig.downloader.planParts({ ...(await request(reference)), onReceived: () => {} });
      return [...costs.values()][0]?.downloadBytes ?? Infinity;
    };
    const price = await plan();
    await rm(directory, { recursive: true });
    expect(await plan()).toBe(price);
    // Every image gets the contents of another one.
    const files = (await readdir(directory)).map((name) => join(directory, name));
    const contents = await Promise.all(files.map((path) => readFile(path)));
    await Promise.all(files.map((path, index) => writeFile(path, contents.at(index - 1) ?? "")));
    const { result } = await rig.download(reference);
    await expectOnDevice(reference);
    expect(result.received).toBeLessThan(layerSize() * 1.02);
  });

  test.skipIf(skip || noDisk)(
    "a full disk: room is made once, and nothing that was received is fetched again",
    async () => {
      await using disk = await smallDisk(14);
      const filler = join(disk.path, "filler");
      await writeFile(filler, Buffer.alloc(11_000_000));
      let asked = 0;
      const makeRoom = async (): Promise<boolean> => {
        asked++;
        await rm(filler, { force: true });
        return true;
      };
      rig.downloader = rig.newDownloader({
        kept: { parts: new PartStore(join(disk.path, "downloads")), pulls: rig.pulls },
        makeRoom,
      });
      const reference = at(rig.registry.host);
      const { result, wholes, price } = await rig.download(reference);
      await expectOnDevice(reference);
      expect(wholes).toEqual([]);
      expect(asked).toBe(1);
      // What came while the disk was full.
      expect(result.received).toBeLessThan(price + 1_000_000);
    },
  );

  test.skipIf(skip || noDisk)("a disk that stays full fails with no_space", async () => {
    await using disk = await smallDisk(2);
    rig.downloader = rig.newDownloader({
      kept: { parts: new PartStore(join(disk.path, "downloads")), pulls: rig.pulls },
    });
    await expect(rig.download(at(rig.registry.host))).rejects.toMatchObject({ kind: "no_space" });
  });

  test.skipIf(skip)("two updates that share a layer, at once: its ranges are fetched once", async () => {
    const other = await rig.push(second, "3");
    const [one, two] = await Promise.all([rig.download(at(rig.registry.host)), rig.download(other)]);
    await expectOnDevice(other);
    // Which of them is priced last finds less to fetch, or nothing.
    const price = Math.max(one.price, two.price);
    expect(one.result.received + two.result.received).toBeLessThan(price * 1.02);
  });

  const request = async (reference: string) => {
    const signal = AbortSignal.timeout(240_000);
    const image = await rig.resolve(reference);
    return { image, auth: undefined, app: "app", layersPresent: 1, signal };
  };
});

function tarOf(image: Image, index: number): { tar: Buffer; diffId: string } {
  const layer = image.layers[index];
  if (!layer) throw new Error("no such layer");
  return { tar: layer.tar, diffId: layer.diffId };
}

/** The part of a version at an offset in its pack, and how many new bytes are before it. */
async function newPartAt(image: Image, offset: number): Promise<{ before: number; length: number }> {
  const { layout, pack } = await indexTar(tarOf(image, 1).tar);
  const { headers } = layout;
  if (offset >= headers.offset) return { before: 0, length: headers.length };
  for (const { parts } of layout.contents()) {
    const part = parts.find((some) => some.offset <= offset && offset < some.offset + some.length);
    if (part) return { before: NEW_BYTES - (pack.length - headers.length - part.offset), length: part.length };
  }
  throw new Error("no such part");
}

type Export = Engine["exportImage"];

function withExport(engine: Engine, change: (exported: Export) => Export): Engine {
  return new Proxy(engine, {
    get: (target, key) => {
      if (key === "exportImage") return change(target.exportImage.bind(target));
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Ends each export in its middle, as when the image is removed. */
function brokenOff(exported: Export): Export {
  return async function* broken(...request) {
    let bytes = 0;
    for await (const chunk of exported(...request)) {
      bytes += chunk.length;
      if (bytes > 1_000_000) throw new EngineError("not_found", "no such container");
      yield chunk;
    }
  };
}

function failing(): Export {
  // eslint-disable-next-line require-yield -- fails at its beginning
  return async function* fail() {
    throw new EngineError("image_not_found", "no such image");
  };
}
