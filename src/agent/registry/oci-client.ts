import type { Clock } from "../../lib/clock.ts";
import { type Platform, choosePlatform, platformName, runsOn } from "../core/image/platform.ts";
import { imageAddress } from "./address.ts";
import { Authorizer } from "./authorizer.ts";
import {
  ACCEPT,
  type ImageConfiguration,
  type Index,
  type Manifest,
  digestOf,
  parseConfiguration,
  parseManifest,
  verifyDigest,
} from "./manifest.ts";
import { readBody } from "./read-body.ts";
import { RegistryError } from "./registry-error.ts";
import { type RegistryResponse, RegistryHttp, type TrustSource } from "./registry-http.ts";
import type { BlobOptions, Descriptor, OpenBlob, RegistryAuth, RegistryClient, ResolvedImage } from "./registry.ts";
import { toResponseError, toRegistryError } from "./to-registry-error.ts";
import { authSecrets } from "./auth-secrets.ts";
import { type RegistryHttpResponse, Transport } from "./transport.ts";

export interface OciClientOptions {
  readonly clock: Clock;
  readonly trust: TrustSource;
  /** Such as `edge-agent/1.0`. */
  readonly userAgent: string;
  /** How long a registry may take until it begins to answer, in milliseconds. Default 30 s. */
  readonly responseTimeoutMs?: number;
}

/** Manifests and configurations longer than this are nobody's image. */
const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;
const SHORT_BODY_BYTES = 4096;
const DEFAULT_RESPONSE_TIMEOUT_MS = 30_000;
/** Lists in lists are allowed, and not seen; deeper than this somebody is playing. */
const MAX_INDEX_DEPTH = 2;

/** A client for registries, over HTTP. */
export function createRegistryClient(options: OciClientOptions): RegistryClient {
  return new OciClient(options);
}

interface Target {
  readonly registry: string;
  readonly repository: string;
  readonly auth: RegistryAuth | undefined;
}

class OciClient implements RegistryClient {
  readonly #clock: Clock;
  readonly #http: RegistryHttp;
  readonly #authorizer: Authorizer;
  readonly #stallMs: number;

  constructor({ clock, trust, userAgent, responseTimeoutMs = DEFAULT_RESPONSE_TIMEOUT_MS }: OciClientOptions) {
    this.#clock = clock;
    this.#http = new RegistryHttp(
      new Transport({ clock, userAgent, responseTimeoutMs: responseTimeoutMs }),
      trust,
      clock,
    );
    this.#authorizer = new Authorizer(this.#http, clock);
    this.#stallMs = responseTimeoutMs;
  }

  async resolve(
    reference: string,
    platform: Platform,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<ResolvedImage> {
    const { registry, repository, tag, digest } = imageAddress(reference);
    const target = { registry, repository, auth };
    const found = await this.#findManifest(target, digest ?? tag ?? "latest", platform, signal);
    const { config, layers } = found.manifest;
    const configBytes = await this.#readConfig(target, config, signal);
    const configuration = parseConfiguration(configBytes);
    // A list says what it offers; an image alone says so only here.
    if (found.indexDigest === undefined) requireRunnable(configuration, platform);
    const diffIds = configuration.rootfs.diff_ids;
    if (diffIds.length !== layers.length) {
      throw new RegistryError("unsupported", "the image's configuration and manifest name different layers");
    }
    return {
      reference,
      registry,
      repository,
      digest: found.digest,
      ...(found.indexDigest !== undefined && { indexDigest: found.indexDigest }),
      mediaType: found.mediaType,
      manifest: found.bytes,
      config,
      configBytes,
      diffIds,
      layers,
    };
  }

  async openBlob(
    image: Pick<ResolvedImage, "registry" | "repository">,
    blob: Descriptor,
    options: BlobOptions,
  ): Promise<OpenBlob> {
    const { offset = 0, auth, signal } = options;
    const headers: Record<string, string> = offset > 0 ? { Range: `bytes=${offset}-` } : {};
    const target = { registry: image.registry, repository: image.repository, auth };
    const answer = await this.#get(target, `blobs/${blob.digest}`, headers, signal);
    const { status, body } = answer;
    if (status === 200 || (status === 206 && rangeStart(answer) === offset)) {
      const length = Number(answer.headers["content-length"] ?? Number.NaN);
      const remaining = Number.isSafeInteger(length) ? length : undefined;
      return { stream: body, status, offset: status === 206 ? offset : 0, remaining };
    }
    if (status !== 206) throw await this.#toError(answer, target);
    body.destroy();
    throw new RegistryError("wrong_content", `${answer.url.host} sent another part of the layer than was asked for`);
  }

  async #findManifest(target: Target, name: string, platform: Platform, signal: AbortSignal) {
    let indexDigest: string | undefined;
    let wanted = name;
    for (let lists = 0; lists <= MAX_INDEX_DEPTH; lists++) {
      const answer = await this.#get(target, `manifests/${wanted}`, { Accept: ACCEPT }, signal);
      if (answer.status !== 200) throw await this.#toError(answer, target);
      const bytes = await this.#read(answer, signal);
      if (wanted.startsWith("sha256:")) verifyDigest(bytes, wanted);
      const parsed = parseManifest(bytes, answer.headers["content-type"]);
      const digest = digestOf(bytes);
      if (parsed.kind === "image") {
        const { manifest, mediaType } = parsed satisfies { manifest: Manifest };
        return { digest, indexDigest, mediaType, manifest, bytes };
      }
      indexDigest ??= digest;
      wanted = chooseFrom(parsed.index, platform);
    }
    throw new RegistryError("unsupported", "the reference leads from list to list");
  }

  async #readConfig(target: Target, config: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
    if (config.size > MAX_DOCUMENT_BYTES)
      throw new RegistryError("unsupported", "the image's configuration is too long");
    const answer = await this.#get(target, `blobs/${config.digest}`, {}, signal);
    if (answer.status !== 200) throw await this.#toError(answer, target);
    const bytes = await this.#read(answer, signal);
    verifyDigest(bytes, config.digest);
    return bytes;
  }

  /** GET within a repository, authenticated once the registry asks for that, or asks again because a token expired. */
  async #get(
    target: Target,
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<RegistryResponse> {
    const { registry, repository } = target;
    const send = (authorization: string | undefined): Promise<RegistryResponse> => {
      const all = authorization === undefined ? headers : { ...headers, Authorization: authorization };
      return this.#http.get({ registry, path: `/v2/${repository}/${path}`, headers: all }, signal);
    };
    const answer = await send(this.#authorizer.known(target));
    if (answer.status !== 401 || answer.headers["www-authenticate"] === undefined) return answer;
    // Only the registry itself says how it wants to be authenticated to: a host behind a redirect may want to collect.
    if (answer.isCrossOrigin) return answer;
    discard(answer);
    const second = await send(await this.#authorizer.authenticate(answer, target, signal));
    if (second.status !== 401 || second.isCrossOrigin) return second;
    discard(second);
    throw refusedAgain(target);
  }

  async #read(answer: RegistryHttpResponse, signal: AbortSignal): Promise<Uint8Array> {
    try {
      const options = { clock: this.#clock, maxBytes: MAX_DOCUMENT_BYTES, stallMs: this.#stallMs };
      return await readBody(answer.body, options);
    } catch (error) {
      signal.throwIfAborted();
      throw toRegistryError(error, answer.url.host, this.#clock);
    }
  }

  async #toError(answer: RegistryResponse, { auth }: Target): Promise<RegistryError> {
    const error = await toResponseError(answer, this.#clock, authSecrets(auth));
    const hasExpired = answer.status === 403 && answer.isCrossOrigin;
    // An address of a storage host that has expired: the registry gives a new one.
    return hasExpired ? new RegistryError("registry_unreachable", error.message) : error;
  }
}

/** What was just granted, or shown, is not enough. */
function refusedAgain({ registry, auth }: Target): RegistryError {
  const what = auth?.kind === "basic" ? "user name or password" : "token";
  return new RegistryError(
    "image_denied",
    auth
      ? `${registry} refuses the ${what} it was shown (HTTP 401)`
      : `${registry} wants credentials, and none are known for it (HTTP 401)`,
  );
}

function chooseFrom(index: Index, platform: Platform): string {
  const chosen = choosePlatform(index.manifests, platform);
  if (chosen) return chosen.digest;
  const offers = index.manifests.flatMap((offer) => (offer.platform ? [offer.platform] : []));
  throw wrongPlatform(offers, platform);
}

function requireRunnable(configuration: ImageConfiguration, platform: Platform): void {
  if (!runsOn(configuration, platform)) throw wrongPlatform([configuration], platform);
}

function wrongPlatform(offers: readonly Platform[], platform: Platform): RegistryError {
  // Attestations are listed as of no platform.
  const names = new Set(offers.filter(({ os }) => os !== "unknown").map((offer) => platformName(offer)));
  const offered = [...names].slice(0, 20).join(", ") || "nothing";
  return new RegistryError(
    "wrong_platform",
    `this device is ${platformName(platform)}, and the image is for ${offered} only`,
  );
}

/** Lets a short body run out, so that the connection serves the next request. */
function discard({ headers, body }: RegistryHttpResponse): void {
  if (Number(headers["content-length"] ?? Number.NaN) <= SHORT_BODY_BYTES) body.resume();
  else body.destroy();
}

function rangeStart({ headers }: RegistryHttpResponse): number | undefined {
  const [, start] = /^bytes (\d+)-/.exec(headers["content-range"] ?? "") ?? [];
  return start === undefined ? undefined : Number(start);
}
