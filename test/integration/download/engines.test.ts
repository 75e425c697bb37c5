import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createImageDownloader } from "../../../src/agent/download/image-downloader.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import {
  type FetchInterruption,
  type ImageDownloader,
  LoopbackUnreachable,
  type TransferProgress,
} from "../../../src/agent/download/ports.ts";
import { PullRecords } from "../../../src/agent/download/pull-records.ts";
import { PartSweeper } from "../../../src/agent/download/sweeper.ts";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { Engine } from "../../../src/agent/engine/engine.ts";
import type { ResolvedImage } from "../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { plainClient } from "../../support/download/layer-rig.ts";
import { type Image, bigImage, engineRequest, removeImage, uniqueName } from "../../support/images.ts";
import { buildImage, fileLayer } from "../../support/images/image.ts";
import { LossyLink } from "../../support/link/lossy-link.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { PrivateEngine } from "../../support/private-engine.ts";
import { currentDockers } from "../../support/private-engine/current-docker.ts";
import { Registry } from "../../support/registry.ts";
import { FaultyRegistry } from "../../support/registry/faulty-registry.ts";
import { tempDir } from "../../support/temp-dir.ts";

const onNothing = (): void => {};

const docker = await dockerSocket();
const CURRENT = await currentDockers();
const ENGINES = [
  ["Docker", docker === undefined ? "no Docker engine answers" : undefined, async () => ({ socketPath: docker ?? "" })],
  ["Podman", await podmanUnavailableReason(), startPodman],
  ...CURRENT.map(({ title, missing, engine }) => [title, missing, () => PrivateEngine.start(engine)] as const),
] as const;

describe.each(ENGINES)("%s, served on loopback", (title, missing, startEngine) => {
  const skip = missing !== undefined;
  const owned = new AsyncDisposableStack();
  let socketPath: string;
  let own: PrivateEngine;
  let engine: Engine;
  let registry: Registry;
  let parts: PartStore;
  let pulls: PullRecords;
  let downloader: ImageDownloader;

  beforeAll(async () => {
    if (skip) return;
    const service = await startEngine();
    if (Symbol.asyncDispose in service) owned.use(service);
    if (service instanceof PrivateEngine) own = service;
    ({ socketPath } = service);
    registry = owned.use(await Registry.start());
    parts = new PartStore(join(owned.use(await tempDir()).path, "downloads"));
    pulls = new PullRecords(parts.directory);
    engine = newEngine();
    downloader = createImageDownloader(options());
  });
  afterAll(() => owned.disposeAsync());

  const newEngine = (): Engine => createDockerEngine({ socketPath: () => socketPath, clock: systemClock });

  let collections = 0;
  const options = () => ({
    engine,
    registry: plainClient(),
    kept: { parts, pulls },
    makeRoom: async () => false,
    logger: pino({ level: "silent" }),
    rules: {
      clock: systemClock,
      random: () => 0.5,
      bounds: { patienceMs: 20_000, baseMs: 20, maxMs: 200 },
      stallMs: 5_000,
      rate: () => undefined,
    },
    collectYoung: () => void collections++,
  });

  const repositories: string[] = [];
  const push = async (image: Image, host: string = registry.host): Promise<string> => {
    const repository = `${uniqueName("team")}/app`;
    repositories.push(repository);
    const name = `${repository}:1.0`;
    const reference = (await registry.push(image, name)).replace(registry.host, host);
    owned.defer(() => removeImage(socketPath, reference));
    return reference;
  };

  const download = async (
    reference: string,
    signal: AbortSignal = AbortSignal.timeout(240_000),
    onProgress: (progress: TransferProgress) => void = onNothing,
  ) => {
    const { os, architecture } = await engine.info(signal);
    const image = await plainClient().resolve(reference, { os, architecture }, undefined, signal);
    const progress: TransferProgress[] = [];
    const interruptions: FetchInterruption[] = [];
    const { image: pulled, progress: result } = await downloader.download({
      image,
      auth: undefined,
      onProgress: (now) => {
        progress.push(now);
        onProgress(now);
      },
      onInterruption: (interruption) => interruptions.push(interruption),
      onReceived: onNothing,
      signal,
    });
    expect(pulled.id).toBe(await idOf(reference));
    return { image, result, progress, interruptions };
  };

  /** Whether the engine has the image under this name. Image ids are the digest of the config, or of the manifest. */
  const has = async (reference: string, { config, digest }: ResolvedImage): Promise<boolean> => {
    const id = await idOf(reference);
    return id === config.digest || id === digest;
  };

  const idOf = async (reference: string): Promise<string | undefined> => {
    return (await engine.inspectImage(reference, AbortSignal.timeout(240_000)))?.id;
  };

  /** Loopback names of images of this test. */
  const loopbackNames = async (): Promise<string[]> => {
    const { body } = await engineRequest(socketPath, "GET", "/images/json");
    const images = JSON.parse(body) as { RepoTags?: string[] | null; RepoDigests?: string[] | null }[];
    const names = images.flatMap(({ RepoTags, RepoDigests }) => [RepoTags ?? [], RepoDigests ?? []].flat());
    return names.filter((name) => {
      const [, repository] = /^127\.0\.0\.1:\d+\/[0-9a-f]{32}\/(.+)@/.exec(name) ?? [];
      return repository !== undefined && repositories.includes(repository);
    });
  };

  test.skipIf(skip)("gets an image under its own name, without leftovers of the pull", async () => {
    const reference = await push(await bigImage(3));
    collections = 0;
    const { image, result, progress } = await download(reference);
    expect(await has(reference, image)).toBe(true);
    expect(collections).toBeGreaterThanOrEqual(1);
    // Before the deployment goes on: it does not come back to this pull, should the agent be killed.
    expect((await readdir(parts.directory)).filter((name) => name.endsWith(".part"))).toEqual([]);
    await downloader[Symbol.asyncDispose]();
    expect(await loopbackNames()).toEqual([]);
    expect(await parts.idle()).toEqual([]);
    const size = image.layers.reduce((sum, layer) => sum + layer.size, 0);
    expect(progress.at(-1)).toMatchObject({ done: result.total, cuts: 0 });
    expect(result.total).toBeLessThanOrEqual(size);
    for (const [index, { done, total }] of progress.entries()) {
      expect(done).toBeGreaterThanOrEqual(progress[index - 1]?.done ?? 0);
      expect(done).toBeLessThanOrEqual(total);
    }
  });

  /** A downloader whose agent is killed when it names an image. */
  const dyingDownloader = (tagImage: Engine["tagImage"]): ImageDownloader => {
    const killed = async (...args: Parameters<Engine["tagImage"]>): Promise<void> => {
      await tagImage(...args);
      throw new Error("killed");
    };
    return createImageDownloader({ ...options(), engine: Object.assign(newEngine(), { tagImage: killed }) });
  };

  /** As after a restart. */
  const finishPulls = async (keepMs: number): Promise<void> => {
    const { rules, logger } = options();
    const { directory } = parts;
    const sweeper = new PartSweeper({
      pendingBlobs: () => new Set(),
      engine,
      kept: { parts: new PartStore(directory), pulls: new PullRecords(directory) },
      bounds: { keepMs, reserveBytes: 0, minAgeMs: 0 },
      freeBytes: async () => undefined,
      pending: () => new Set(),
      attempt: (work) => work(),
      clock: rules.clock,
      logger,
    });
    await sweeper.finishPulls(AbortSignal.timeout(240_000));
    await sweeper.sweep();
  };

  test.skipIf(skip)("leaves nothing of a pull at whose end the agent is killed", async () => {
    const reference = await push(await bigImage(2));
    downloader = dyingDownloader((...args) => engine.tagImage(...args));
    await expect(download(reference)).rejects.toThrow("killed");
    downloader = createImageDownloader(options());
    expect(await loopbackNames()).not.toEqual([]);
    expect(await parts.idle()).not.toEqual([]);
    await finishPulls(3_600_000);
    expect(await loopbackNames()).toEqual([]);
    expect(await readdir(parts.directory)).toEqual([]);
    expect(await idOf(reference)).toBeDefined();
  });

  test.skipIf(skip)("keeps an image without its name for the next attempt, until that is too late", async () => {
    const reference = await push(await bigImage(2));
    downloader = dyingDownloader(async () => {});
    await expect(download(reference)).rejects.toThrow("killed");
    downloader = createImageDownloader(options());
    await finishPulls(3_600_000);
    const [name = ""] = await loopbackNames();
    const { id } = (await engine.inspectImage(name, AbortSignal.timeout(240_000))) ?? {};
    expect(id).toBeDefined();
    await finishPulls(-1);
    expect(await loopbackNames()).toEqual([]);
    expect(await readdir(parts.directory)).toEqual([]);
    expect(await idOf(id ?? "")).toBeUndefined();
  });

  test.skipIf(skip)("finds an image by its digest, when requested by digest", async () => {
    const tagged = await push(await bigImage(1));
    const name = tagged.slice(registry.host.length + 1);
    const reference = `${tagged.replace(/:1\.0$/, "")}@${await registry.digest(name)}`;
    owned.defer(() => engine.untagImage(reference, AbortSignal.timeout(240_000)));
    const { image } = await download(reference);
    expect(await has(reference, image)).toBe(true);
  });

  test.skipIf(skip)("requests no layer it has: a layer shared by two images is downloaded once", async () => {
    const base = await bigImage(4);
    const shared = await push(base);
    await download(shared);
    const own = await fileLayer([{ path: "own", content: Buffer.alloc(100_000, uniqueName("x")) }]);
    const config = JSON.parse(base.config.toString()) as { config: object };
    const other = buildImage([...base.layers, own], config.config);
    const { result } = await download(await push(other));
    expect(result.received).toBe(own.compressed.length);
    const again = await download(await push(other));
    expect(again.result.received).toBe(0);
  });

  test.skipIf(skip)("gets an image over an unreliable link, and from a registry that sends wrong bytes", async () => {
    await using faulty = await FaultyRegistry.before(registry.port);
    await using link = await LossyLink.to(faulty.port, { cutAfter: 700_000, bytesPerSecond: 20_000_000 });
    faulty.fault = ({ number, range }) => (number < 4 && range ? { kind: "corrupt", at: 1_000 } : undefined);
    const reference = await push(await bigImage(5), link.host);
    const { image, result, interruptions } = await download(reference);
    expect(await has(reference, image)).toBe(true);
    expect(result.cuts).toBeGreaterThan(5);
    expect(interruptions.filter(({ kind }) => kind === "wrong_content").length).toBe(1);
  });

  test.skipIf(skip)("reports that it cannot be served when it does not share the loopback", async () => {
    const elsewhere: Engine = Object.create(engine, {
      // As seen by an engine in another network namespace.
      pullImage: {
        value: (_reference: string, ...rest: [() => void, AbortSignal]) =>
          engine.pullImage(`127.0.0.1:1/nothing@sha256:${"0".repeat(64)}`, ...rest),
      },
    }) as Engine;
    const reference = await push(await bigImage(1));
    const { os, architecture } = await engine.info(AbortSignal.timeout(240_000));
    const signal = AbortSignal.timeout(240_000);
    const image = await plainClient().resolve(reference, { os, architecture }, undefined, signal);
    const request = {
      image,
      auth: undefined,
      onProgress: onNothing,
      onInterruption: onNothing,
      onReceived: onNothing,
      signal,
    };
    const failed = createImageDownloader({ ...options(), engine: elsewhere }).download(request);
    await expect(failed).rejects.toBeInstanceOf(LoopbackUnreachable);
  });

  test.skipIf(skip)("downloads the rest of an image whose pull was stopped", async () => {
    await using link = await LossyLink.to(registry.port, { stallAfter: 3_000_000, bytesPerSecond: 20_000_000 });
    const reference = await push(await bigImage(6), link.host);
    const stopped = new AbortController();
    const cut = ({ done }: TransferProgress): void => void (done > 2_500_000 && stopped.abort(new Error("power cut")));
    await expect(download(reference, stopped.signal, cut)).rejects.toThrow("power cut");
    const [part] = (await parts.idle()).toSorted((a, b) => b.bytes - a.bytes);
    expect(part?.bytes).toBeGreaterThan(2_000_000);
    link.conditions = {};
    const { result } = await download(reference);
    expect(result.received).toBeLessThan(result.total - 2_000_000);
    await downloader[Symbol.asyncDispose]();
    expect(await parts.idle()).toEqual([]);
  });

  // Only for the engine this test can damage.
  if (!CURRENT.some((current) => current.title === title)) return;

  test.skipIf(skip)("gets an image whose first part the engine lost in a power cut", async () => {
    await using link = await LossyLink.to(registry.port, { stallAfter: 3_000_000, bytesPerSecond: 20_000_000 });
    const reference = await push(await bigImage(6), link.host);
    const stopped = new AbortController();
    const cut = ({ done }: TransferProgress): void => void (done > 2_500_000 && stopped.abort(new Error("power cut")));
    await expect(download(reference, stopped.signal, cut)).rejects.toThrow("power cut");
    await own.powerOff();
    await zeroUnfinished(own.dataRoot);
    await own.start();
    link.conditions = {};
    const { image, result } = await download(reference);
    expect(await has(reference, image)).toBe(true);
    expect(result.received).toBeLessThan(result.total - 2_000_000);
    await downloader[Symbol.asyncDispose]();
    expect(await loopbackNames()).toEqual([]);
  });
});

/** Simulates a power cut: zeroes containerd's unfinished layers, as if they had not reached the disk. */
async function zeroUnfinished(dataRoot: string): Promise<void> {
  const ingest = join(dataRoot, "containerd/daemon/io.containerd.content.v1.content/ingest");
  for (const name of await readdir(ingest).catch(() => [])) {
    const file = join(ingest, name, "data");
    await writeFile(file, Buffer.alloc((await stat(file)).size));
  }
}
