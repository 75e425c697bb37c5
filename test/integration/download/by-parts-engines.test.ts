import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dockerSocket } from "../../support/docker-socket.ts";
import { PartsRig } from "../../support/download/parts-rig.ts";
import { engineRequest, uniqueName } from "../../support/images.ts";
import { buildImage, fileLayer, type Image, sha256 } from "../../support/images/image.ts";
import { zstdChunkedBlob } from "../../support/layer-parts/zstd-chunked-blob.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { PrivateEngine } from "../../support/private-engine.ts";
import { currentDockers } from "../../support/private-engine/current-docker.ts";

const docker = await dockerSocket();
const ENGINES = [
  ["Docker", docker === undefined ? "no Docker engine answers" : undefined, async () => ({ socketPath: docker ?? "" })],
  ["Podman", await podmanUnavailableReason(), startPodman],
  ...(await currentDockers()).map(
    ({ title, missing, engine }) => [title, missing, () => PrivateEngine.start(engine)] as const,
  ),
] as const;

// Made once for all engines.
const seed = uniqueName("seed");
const [first, second] = [await versionedImage({ seed, version: 1 }), await versionedImage({ seed, version: 2 })];
const other = uniqueName("seed");
const [zstdFirst, zstdSecond] = [
  zstdChunked(await versionedImage({ seed: other, version: 1, files: 300 })),
  zstdChunked(await versionedImage({ seed: other, version: 2, files: 300 })),
];

describe.each(ENGINES)("%s, given layers that were put together from parts", (_title, missing, startEngine) => {
  const skip = missing !== undefined;
  const owned = new AsyncDisposableStack();
  let rig: PartsRig;

  beforeAll(async () => {
    if (skip) return;
    const service = await startEngine();
    if (Symbol.asyncDispose in service) owned.use(service);
    rig = owned.use(await PartsRig.start(service.socketPath));
  });
  afterAll(() => owned.disposeAsync());

  /** Every name and digest that the engine shows for images. */
  const shownNames = async (): Promise<string[]> => {
    const { body } = await engineRequest(rig.socketPath, "GET", "/images/json");
    const images = JSON.parse(body) as { RepoTags?: string[] | null; RepoDigests?: string[] | null }[];
    return images.flatMap(({ RepoTags, RepoDigests }) => [RepoTags ?? [], RepoDigests ?? []].flat());
  };

  test.skipIf(skip)("has the registry's image, for a small part of its bytes", async () => {
    const size = second.layers[1]?.compressed.length ?? 0;
    await rig.download(await rig.push(first, "1"));
    const reference = await rig.push(second, "2");
    await rig.index("2", second);
    rig.indexLookups = 0;
    const { image, result, price, planned, wholes } = await rig.download(reference);
    expect(wholes).toEqual([]);
    expect(rig.indexLookups).toBe(1);
    expect(result.received).toBe(price);
    expect(price + planned).toBeLessThan(size / 15);
    const signal = AbortSignal.timeout(240_000);
    const { id } = (await rig.engine.inspectImage(reference, signal)) ?? {};
    // Engines name images after the configuration, or after the registry's manifest.
    expect([image.config.digest, image.digest]).toContain(id);
    const chain = (await rig.engine.layerChains(signal)).find(({ imageId }) => imageId === id);
    expect(chain?.diffIds).toEqual(image.diffIds);
    // Other tests may use the same engine.
    const names = (await shownNames()).filter((name) => name.includes(rig.repository));
    expect(names.filter((name) => /^127\.0\.0\.1:\d+\/[0-9a-f]{32}/.test(name))).toEqual([]);
    expect(await rig.parts.idle()).toEqual([]);
  });

  test.skipIf(skip)("has an image with zstd:chunked layers, also where it cannot read zstd", async () => {
    const whole = await rig.download(await rig.push(zstdFirst, "zstd-1"));
    const size = zstdFirst.layers.reduce((sum, { compressed }) => sum + compressed.length, 0);
    expect(whole.result.received + whole.planned).toBeLessThan(size * 1.02);
    const reference = await rig.push(zstdSecond, "zstd-2");
    const { image, result, planned, wholes } = await rig.download(reference);
    expect(wholes).toEqual([]);
    expect(result.received + planned).toBeLessThan(size / 10);
    const { id } = (await rig.engine.inspectImage(reference, AbortSignal.timeout(240_000))) ?? {};
    expect([image.config.digest, image.digest]).toContain(id);
  });

  test.skipIf(skip)("asks once for an index that the registry does not have", async () => {
    const { layers, config } = first;
    const own = await fileLayer([{ path: "own", content: randomBytes(1_000_000) }]);
    const unindexed = buildImage([...layers, own], (JSON.parse(config.toString()) as { config: object }).config);
    const reference = await rig.push(unindexed, "unindexed");
    rig.indexLookups = 0;
    const { result } = await rig.download(reference);
    expect(result.received).toBe(own.compressed.length);
    expect(rig.indexLookups).toBe(1);
  });

  test.skipIf(skip)("does not ask for a layer again that it was given uncompressed", async () => {
    const config = JSON.parse(second.config.toString()) as { config: object };
    const own = await fileLayer([{ path: "own", content: uniqueName("x").repeat(1_000) }]);
    const { result } = await rig.download(await rig.push(buildImage([...second.layers, own], config.config), "3"));
    expect(result.received).toBe(own.compressed.length);
  });
});

/** The same image with layers as newer tools push them. */
function zstdChunked(image: Image): Image {
  const mediaType = "application/vnd.oci.image.layer.v1.tar+zstd";
  const layers = image.layers.map(({ tar, diffId }) => {
    const { blob, annotations } = zstdChunkedBlob(tar);
    return { tar, diffId, compressed: blob, digest: sha256(blob), mediaType, annotations };
  });
  return { ...image, layers };
}
