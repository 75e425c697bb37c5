import { createRegistryClient } from "../../../src/agent/registry/oci-client.ts";
import { expect } from "vitest";
import type { RegistryError } from "../../../src/agent/registry/registry-error.ts";
import type { RegistryAuth, RegistryClient } from "../../../src/agent/registry/registry.ts";
import { createTrustSource, type TrustOptions } from "../../../src/agent/registry/trust.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { foreignImage, type Image, sleeperImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { type RegistryProxyOptions, RegistryProxy } from "../../support/registry/registry-proxy.ts";
import { tempDir } from "../../support/temp-dir.ts";

export const MACHINE = { os: "linux", architecture: process.arch === "arm64" ? "arm64" : "amd64" };
export const USER = { name: "user", password: "secret word" };
export const BASIC: RegistryAuth = { kind: "basic", username: USER.name, password: USER.password };

/** Real registries with an image, and proxies in front of them. Disposing it stops them all. */
export class RegistryRig implements AsyncDisposable {
  readonly image: Image;
  /** Needs no credentials. */
  readonly open: Registry;
  /** Accepts `USER` only. */
  readonly closed: Registry;
  readonly directory: string;
  readonly #owned: AsyncDisposableStack;

  private constructor(
    image: Image,
    registries: readonly [Registry, Registry],
    directory: string,
    owned: AsyncDisposableStack,
  ) {
    this.image = image;
    [this.open, this.closed] = registries;
    this.directory = directory;
    this.#owned = owned;
  }

  static async start(): Promise<RegistryRig> {
    await using owned = new AsyncDisposableStack();
    const image = await sleeperImage("registry client");
    const open = owned.use(await Registry.start());
    const closed = owned.use(await Registry.start({ user: USER }));
    const { path } = owned.use(await tempDir());
    for (const registry of [open, closed]) await registry.push(image, "team/app:1");
    await open.push(await foreignImage(), "team/foreign:1");
    return new RegistryRig(image, [open, closed], path, owned.move());
  }

  /** Starts a proxy in front of the open registry. */
  async front(options: Omit<RegistryProxyOptions, "upstream"> = {}): Promise<RegistryProxy> {
    return this.#owned.use(await RegistryProxy.start({ upstream: this.open.host, ...options }));
  }

  /** Compressed bytes of the first layer. */
  get layerBytes(): Buffer {
    return this.image.layers[0]?.compressed ?? Buffer.alloc(0);
  }

  /** Reads the first layer from a registry with a new client. */
  async readLayer(host: string, auth?: RegistryAuth, offset: number = 0): Promise<Buffer> {
    const blob = { mediaType: "", digest: this.image.layers[0]?.digest ?? "", size: this.layerBytes.length };
    const image = { registry: host, repository: "team/app" };
    const { stream } = await client().openBlob(image, blob, { offset, auth, signal: soon() });
    const chunks: Buffer[] = [];
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

/** Creates a client, by default without extra trust settings. */
export function client(
  trust: Partial<TrustOptions> = {},
  answerMs: number = 10_000,
  artifactTimeoutMs: number = answerMs,
  clock: Clock = systemClock,
): RegistryClient {
  const source = createTrustSource({
    extraCa: undefined,
    registries: [],
    engineInsecure: async () => [],
    certificateDirectories: [],
    ...trust,
  });
  const userAgent = "test";
  return createRegistryClient({
    clock,
    trust: source,
    userAgent,
    responseTimeoutMs: answerMs,
    artifactTimeoutMs,
  });
}

/** A signal that aborts before the test's timeout. */
export function soon(): AbortSignal {
  return AbortSignal.timeout(240_000);
}

/** Returns the error the work fails with. */
export async function failure(work: Promise<unknown>): Promise<RegistryError> {
  return await work.then(
    () => expect.unreachable("expected a failure"),
    (error: unknown) => error as RegistryError,
  );
}
