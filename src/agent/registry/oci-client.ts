import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { type Platform, choosePlatform, platformName, runsOn } from "../core/image/platform.ts";
import type { RegistryErrorKind } from "../core/error-kind.ts";
import type { Authorizer } from "../../lib/registry/authorizer.ts";
import {
  ACCEPT,
  digestOf,
  digestSchema,
  type ImageConfiguration,
  type IndexDocument,
} from "../../lib/registry/documents.ts";
import { findArtifact, type FoundArtifact } from "../../lib/registry/find-artifact.ts";
import { firstByte, otherThanBlob, pageInstead } from "../../lib/registry/foreign-answer.ts";
import { discard } from "../../lib/registry/http.ts";
import { loginSecrets } from "../../lib/registry/login.ts";
import type { RegistryAccess, RegistryErrors } from "../../lib/registry/problem.ts";
import { MAX_DOCUMENT_BYTES, readDocument } from "../../lib/registry/read-document.ts";
import { imageAddress } from "./address.ts";
import { parseConfiguration, parseManifest, verifyDigest } from "./manifest.ts";
import { RegistryError } from "./registry-error.ts";
import { type AgentRegistryResponse, createAuthorizer, RegistryHttp, type TrustSource } from "./registry-http.ts";
import type {
  ArtifactOptions,
  BlobOptions,
  Descriptor,
  OpenBlob,
  RegistryAuth,
  RegistryClient,
  ResolvedImage,
} from "./registry.ts";
import { registryErrors, toProblemError, toResponseError } from "./to-registry-error.ts";
import { Transport } from "./transport.ts";

export interface OciClientOptions {
  readonly clock: Clock;
  readonly trust: TrustSource;
  /** Such as `edge-agent/1.0`. */
  readonly userAgent: string;
  /** Timeout until a registry starts to respond, in milliseconds. Default 30 s. */
  readonly responseTimeoutMs?: number;
  /** The same where what is asked for only saves data, in milliseconds. Default 5 s; longer where the registry is slow. */
  readonly artifactTimeoutMs?: number;
  /** Called with each TCP connection, from its first byte. */
  readonly onConnection?: ((tcp: Socket) => void) | undefined;
}

const DIGEST_HEADER = "docker-content-digest";
const DEFAULT_RESPONSE_TIMEOUT_MS = 30_000;
const DEFAULT_ARTIFACT_TIMEOUT_MS = 5_000;
/** An artifact is waited for so many times as long as the registry took for its last response, if that is longer. */
const SLOW_FACTOR = 4;
/** Maximum depth of nested indexes. The specification allows nesting; images in use have none. */
const MAX_INDEX_DEPTH = 2;

/** Creates a registry client. */
export function createRegistryClient(options: OciClientOptions): RegistryClient {
  return new OciClient(options);
}

type Target = RegistryAccess;

class OciClient implements RegistryClient {
  readonly #clock: Clock;
  readonly #http: RegistryHttp;
  readonly #errors: RegistryErrors;
  readonly #authorizer: Authorizer<AgentRegistryResponse>;
  readonly #stallMs: number;
  readonly #artifactTimeoutMs: number;
  #lastResponseMs = 0;

  constructor(options: OciClientOptions) {
    const { clock, trust, userAgent, onConnection, responseTimeoutMs = DEFAULT_RESPONSE_TIMEOUT_MS } = options;
    this.#clock = clock;
    this.#http = new RegistryHttp(new Transport({ clock, userAgent, responseTimeoutMs, onConnection }), trust, clock);
    this.#errors = registryErrors(clock);
    this.#authorizer = createAuthorizer(this.#http, clock);
    this.#stallMs = responseTimeoutMs;
    this.#artifactTimeoutMs = options.artifactTimeoutMs ?? DEFAULT_ARTIFACT_TIMEOUT_MS;
  }

  async resolve(
    reference: string,
    platform: Platform,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<ResolvedImage> {
    const { registry, repository, tag, digest } = imageAddress(reference);
    const target = { registry, repository, login: auth };
    const found = await this.#findManifest(target, digest ?? tag ?? "latest", platform, signal);
    const { config, layers } = found.manifest;
    const configBytes = await this.#readConfig(target, config, signal);
    const configuration = parseConfiguration(configBytes);
    // An index names platforms; a single image has its platform only here.
    if (!found.index) requireRunnable(configuration, platform);
    const diffIds = configuration.rootfs.diff_ids;
    if (diffIds.length !== layers.length) {
      throw new RegistryError("unsupported", "the image's configuration and manifest list different layers");
    }
    return {
      reference,
      registry,
      repository,
      digest: found.digest,
      ...(found.index && { indexDigest: found.index.digest, index: found.index.bytes }),
      mediaType: found.mediaType,
      manifest: found.bytes,
      config,
      configBytes,
      diffIds,
      layers,
    };
  }

  async headDigest(
    reference: string,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { registry, repository, tag, digest } = imageAddress(reference);
    const path = `manifests/${digest ?? tag ?? "latest"}`;
    const response = await this.#send("HEAD", { registry, repository, login: auth }, path, { Accept: ACCEPT }, signal);
    discard(response);
    const { [DIGEST_HEADER]: found } = response.headers;
    return response.status === 200 ? digestSchema.safeParse(found).data : undefined;
  }

  async openBlob(
    image: Pick<ResolvedImage, "registry" | "repository">,
    blob: Descriptor,
    options: BlobOptions,
  ): Promise<OpenBlob> {
    const { offset = 0, length: wanted, auth, signal } = options;
    const last = wanted === undefined ? "" : offset + wanted - 1;
    const headers: Record<string, string> =
      offset > 0 || wanted !== undefined ? { Range: `bytes=${offset}-${last}` } : {};
    const target = { registry: image.registry, repository: image.repository, login: auth };
    const response = await this.#get(target, `blobs/${blob.digest}`, headers, signal);
    const { status, body } = response;
    const other = otherThanBlob(response, blob, offset);
    if (other) throw toProblemError(other);
    if (status === 200 || (status === 206 && firstByte(response) === offset)) {
      return { stream: body, status, offset: status === 206 ? offset : 0, host: response.url.host };
    }
    if (status !== 206) throw await this.#toError(response, target);
    body.destroy();
    throw new RegistryError("wrong_content", `${response.url.host} sent another range of the layer than requested`);
  }

  async findArtifact(
    image: Pick<ResolvedImage, "registry" | "repository" | "digest">,
    artifactType: string,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
    { isRequired = false }: ArtifactOptions = {},
  ): Promise<FoundArtifact | undefined> {
    const target = { registry: image.registry, repository: image.repository, login: auth };
    const saving = Math.max(this.#artifactTimeoutMs, SLOW_FACTOR * this.#lastResponseMs);
    const patienceMs = isRequired ? this.#stallMs : Math.min(this.#stallMs, saving);
    /** Why the registry may have it all the same. */
    const doubts: RegistryError[] = [];
    const read = async (path: string): Promise<Uint8Array | undefined> => {
      const response = await this.#getSoon(target, path, patienceMs, signal).catch((error: unknown) => {
        // Some registries and proxies never respond to what they do not know. One that is not there has not the tag either.
        if (!path.startsWith("referrers/") || !isKind(error, "registry_unreachable")) throw error;
        doubts.push(error);
        return undefined;
      });
      if (!response) return undefined;
      const page = pageInstead(response);
      if (page) {
        doubts.push(toProblemError(page));
        return undefined;
      }
      if (response.status === 200) return await this.#readDocument(response, signal, patienceMs);
      if (isRequired) {
        const error = await this.#toError(response, target);
        if (error.kind === "registry_unreachable") doubts.push(error);
      } else discard(response);
      return undefined;
    };
    try {
      const found = await findArtifact(read, image.digest, artifactType);
      const [doubt] = doubts;
      if (!found && isRequired && doubt) throw doubt;
      return found;
    } catch (error) {
      if (!isRequired && (isKind(error, "unsupported") || isKind(error, "foreign_answer"))) return undefined;
      throw error;
    }
  }

  /** Rejects with a `RegistryError` if the registry does not start to respond in time. */
  async #getSoon(target: Target, path: string, withinMs: number, signal: AbortSignal): Promise<AgentRegistryResponse> {
    const late = new AbortController();
    using _timer = this.#clock.timer(withinMs, () => late.abort());
    try {
      return await this.#get(target, path, { Accept: ACCEPT }, AbortSignal.any([signal, late.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (!late.signal.aborted) throw error;
      const message = `${target.registry} has not responded within ${withinMs / 1000} s to a request for ${path}`;
      throw new RegistryError("registry_unreachable", message, { cause: error });
    }
  }

  async #findManifest(target: Target, name: string, platform: Platform, signal: AbortSignal) {
    let index: { readonly digest: string; readonly bytes: Uint8Array } | undefined;
    let nextName = name;
    for (let depth = 0; depth <= MAX_INDEX_DEPTH; depth++) {
      const response = await this.#get(target, `manifests/${nextName}`, { Accept: ACCEPT }, signal);
      const bytes = await this.#readImageDocument(response, target, signal);
      if (nextName.startsWith("sha256:")) verifyDigest(bytes, nextName);
      const parsed = parseManifest(bytes, response.headers["content-type"]);
      const digest = digestOf(bytes);
      if (parsed.kind === "image") {
        const { manifest, mediaType } = parsed;
        return { digest, index, mediaType, manifest, bytes };
      }
      index ??= { digest, bytes };
      nextName = chooseFrom(parsed.index, platform);
    }
    throw new RegistryError("unsupported", "the reference leads to nested indexes");
  }

  async #readConfig(target: Target, config: Descriptor, signal: AbortSignal): Promise<Uint8Array> {
    if (config.size > MAX_DOCUMENT_BYTES)
      throw new RegistryError("unsupported", "the image's configuration is too large");
    const response = await this.#get(target, `blobs/${config.digest}`, {}, signal);
    const bytes = await this.#readImageDocument(response, target, signal);
    verifyDigest(bytes, config.digest);
    return bytes;
  }

  async #get(
    target: Target,
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentRegistryResponse> {
    const begunMs = this.#clock.monotonic();
    const response = await this.#send("GET", target, path, headers, signal);
    this.#lastResponseMs = this.#clock.monotonic() - begunMs;
    return response;
  }

  /** Sends a request within a repository. Authenticates if the registry requires it, again if a token has expired. */
  async #send(
    method: "GET" | "HEAD",
    target: Target,
    path: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AgentRegistryResponse> {
    const { registry, repository } = target;
    let sent = 0;
    const send = (authorization: string | undefined): Promise<AgentRegistryResponse> => {
      sent++;
      const all = authorization === undefined ? headers : { ...headers, Authorization: authorization };
      return this.#http.get({ registry, method, path: `/v2/${repository}/${path}`, headers: all }, signal);
    };
    const response = await this.#authorizer.send(target, send, signal);
    if (sent === 1 || response.status !== 401 || response.isCrossOrigin) return response;
    discard(response);
    throw refusedAgain(target);
  }

  async #readImageDocument(response: AgentRegistryResponse, target: Target, signal: AbortSignal): Promise<Uint8Array> {
    const page = pageInstead(response);
    if (page) throw toProblemError(page);
    if (response.status !== 200) throw await this.#toError(response, target);
    return await this.#readDocument(response, signal);
  }

  async #readDocument(
    response: AgentRegistryResponse,
    signal: AbortSignal,
    stallMs: number = this.#stallMs,
  ): Promise<Uint8Array> {
    return await readDocument(response, { clock: this.#clock, stallMs, errors: this.#errors }, signal);
  }

  async #toError(response: AgentRegistryResponse, { login }: Target): Promise<RegistryError> {
    const error = await toResponseError(response, this.#clock, loginSecrets(login));
    const hasExpired = response.status === 403 && response.isCrossOrigin;
    // The signed URL of a storage host has expired: the registry issues a new one.
    return hasExpired ? new RegistryError("registry_unreachable", error.message) : error;
  }
}

/** The registry returned 401 to a fresh token or to the credentials. */
function refusedAgain({ registry, login }: Target): RegistryError {
  const what = login?.kind === "basic" ? "user name or password" : "token";
  return new RegistryError(
    "image_denied",
    login
      ? `${registry} refuses the ${what} it was shown (HTTP 401)`
      : `${registry} wants credentials, and none are known for it (HTTP 401)`,
  );
}

function chooseFrom(index: IndexDocument, platform: Platform): string {
  const chosen = choosePlatform(index.manifests, platform);
  if (chosen) return chosen.digest;
  const offers = index.manifests.flatMap((offer) => (offer.platform ? [offer.platform] : []));
  throw wrongPlatform(offers, platform);
}

function requireRunnable(configuration: ImageConfiguration, platform: Platform): void {
  if (!runsOn(configuration, platform)) throw wrongPlatform([configuration], platform);
}

function wrongPlatform(offers: readonly Platform[], platform: Platform): RegistryError {
  // Attestations have the platform "unknown".
  const names = new Set(offers.filter(({ os }) => os !== "unknown").map((offer) => platformName(offer)));
  const offered = [...names].slice(0, 20).join(", ") || "nothing";
  return new RegistryError(
    "wrong_platform",
    `this device is ${platformName(platform)}, and the image is for ${offered} only`,
  );
}

function isKind(error: unknown, kind: RegistryErrorKind): error is RegistryError {
  return error instanceof RegistryError && error.kind === kind;
}
