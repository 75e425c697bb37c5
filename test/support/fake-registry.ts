import { Readable } from "node:stream";
import type { ResolvedImage } from "../../src/agent/core/image/image.ts";
import { choosePlatform, type Platform } from "../../src/agent/core/image/platform.ts";
import type { EngineErrorKind, RegistryErrorKind } from "../../src/agent/core/error-kind.ts";
import { EngineError } from "../../src/agent/engine/engine-error.ts";
import { imageAddress } from "../../src/agent/registry/address.ts";
import { digestOf } from "../../src/lib/registry/documents.ts";
import { RegistryError } from "../../src/agent/registry/registry-error.ts";
import type { OpenBlob, RegistryAuth, RegistryClient } from "../../src/agent/registry/registry.ts";
import type { FakeEngine } from "./fake-engine.ts";
import {
  diffIdsOf,
  digestsOf,
  type FakeImage,
  layersOf,
  manifestDigestOf,
  manifestOf,
} from "./fake-engine/fake-image.ts";

const TYPE = "application/vnd.oci.image";

/** The registry a fake engine pulls from, as its clients see it. */
export class FakeRegistry implements RegistryClient {
  /** Credentials of each request. */
  readonly shown: (RegistryAuth | undefined)[] = [];
  /** Errors of the next requests, in order. */
  readonly failures: RegistryError[] = [];
  /** The requests, in order. */
  readonly asked: ("digest" | "image")[] = [];
  /** Whether it tells the digest of a tag; some registries do not. */
  tellsDigests = true;
  readonly #engine: FakeEngine;

  constructor(engine: FakeEngine) {
    this.#engine = engine;
  }

  async resolve(
    reference: string,
    platform: Platform,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<ResolvedImage> {
    this.#ask("image", auth, signal);
    const image = this.#published(reference);
    const own = { os: "linux", architecture: image.architecture ?? platform.architecture };
    if (!choosePlatform([{ platform: own }], platform)) {
      throw new RegistryError("wrong_platform", `the image is for linux/${own.architecture} only`);
    }
    return describe(reference, image);
  }

  async headDigest(
    reference: string,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    this.#ask("digest", auth, signal);
    const image = this.#engine.published(reference);
    return this.tellsDigests && image && !(image instanceof EngineError) ? manifestDigestOf(image) : undefined;
  }

  #ask(what: "digest" | "image", auth: RegistryAuth | undefined, signal: AbortSignal): void {
    signal.throwIfAborted();
    this.asked.push(what);
    this.shown.push(auth);
    const failure = this.failures.shift();
    if (failure) throw failure;
  }

  async openBlob(): Promise<OpenBlob> {
    return { stream: Readable.from([]), status: 200, offset: 0, host: "registry.example.com" };
  }

  async findArtifact(): Promise<undefined> {
    return undefined;
  }

  #published(reference: string): FakeImage {
    const found = this.#engine.published(reference) ?? this.#byDigest(reference);
    if (found instanceof EngineError) throw new RegistryError(KINDS[found.kind] ?? "unsupported", found.message);
    if (found) return found;
    throw new RegistryError("image_not_found", "the registry answered with HTTP 404 (MANIFEST_UNKNOWN)");
  }

  #byDigest(reference: string): FakeImage | EngineError | undefined {
    const { registry, repository, digest } = imageAddress(reference);
    return this.#engine.publishedAll().find(([name, image]) => {
      const address = imageAddress(name);
      const isSame = address.registry === registry && address.repository === repository;
      return isSame && !(image instanceof EngineError) && describe(name, image).digest === digest;
    })?.[1];
  }
}

const KINDS: Partial<Record<EngineErrorKind, RegistryErrorKind>> = {
  image_not_found: "image_not_found",
  image_denied: "image_denied",
  wrong_platform: "wrong_platform",
  registry_unreachable: "registry_unreachable",
};

function describe(reference: string, image: FakeImage): ResolvedImage {
  const { registry, repository } = imageAddress(reference);
  const sizes = layersOf(image);
  const manifest = Buffer.from(manifestOf(image));
  const configBytes = Buffer.from(JSON.stringify(image));
  return {
    reference,
    registry,
    repository,
    digest: manifestDigestOf(image),
    mediaType: `${TYPE}.manifest.v1+json`,
    manifest,
    config: { mediaType: `${TYPE}.config.v1+json`, digest: digestOf(configBytes), size: configBytes.length },
    configBytes,
    diffIds: diffIdsOf(image),
    layers: digestsOf(image).map((digest, index) => {
      return { mediaType: `${TYPE}.layer.v1.tar+gzip`, digest, size: sizes[index] ?? 0 };
    }),
  };
}
