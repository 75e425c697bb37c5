import type { Readable } from "node:stream";
import type { Descriptor, ResolvedImage } from "../core/image/image.ts";
import type { Platform } from "../core/image/platform.ts";
import type { FoundArtifact } from "../../lib/registry/find-artifact.ts";
import type { RegistryLogin as RegistryAuth } from "../../lib/registry/login.ts";

export type { FoundArtifact } from "../../lib/registry/find-artifact.ts";
export type { RegistryLogin as RegistryAuth } from "../../lib/registry/login.ts";
export type { Descriptor, ResolvedImage } from "../core/image/image.ts";

export interface BlobOptions {
  /** First byte. Default 0. */
  readonly offset?: number;
  /** Number of bytes wanted, at least 1. Default: all that follow. A registry may send more. */
  readonly length?: number | undefined;
  readonly auth?: RegistryAuth | undefined;
  /** Aborts the transfer, also after the call has resolved. */
  readonly signal: AbortSignal;
}

export interface OpenBlob {
  /** The bytes, not checked against the digest. The caller must read it to its end or destroy it. */
  readonly stream: Readable;
  /** 206 if it starts at the requested offset, 200 if at the first byte. */
  readonly status: 200 | 206;
  /** First byte of the stream: the requested offset, or 0 if the registry does not support ranges. */
  readonly offset: number;
  /** Host that sends it, with an optional port. */
  readonly host: string;
}

/**
 * A client of the OCI distribution specification. Every call rejects with a `RegistryError`, or with the signal's
 * reason once that has aborted.
 */
export interface RegistryClient {
  /**
   * Resolves a reference for a platform: manifest and configuration, checked against their digests. Transfers no layer.
   */
  resolve(
    reference: string,
    platform: Platform,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<ResolvedImage>;
  /**
   * Resolves to the digest of what a reference means now, by a request without a body; `undefined` if the registry does
   * not tell, for whatever reason: `resolve` then finds out. The digest is not checked against any content.
   */
  headDigest(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string | undefined>;
  /** Opens a layer. Handles redirects and authentication; the caller handles a broken stream. */
  openBlob(
    image: Pick<ResolvedImage, "registry" | "repository">,
    blob: Descriptor,
    options: BlobOptions,
  ): Promise<OpenBlob>;
  /**
   * Resolves to the blobs of the newest artifact of a type that refers to the image's manifest, by the referrers API or the
   * tag that stands in for it; `undefined` if there is none, or, unless it is required, if the registry does not tell.
   */
  findArtifact(
    image: Pick<ResolvedImage, "registry" | "repository" | "digest">,
    artifactType: string,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
    options?: ArtifactOptions,
  ): Promise<FoundArtifact | undefined>;
}

export interface ArtifactOptions {
  /** Whether nothing can be done without it. Default: it only saves data, and is not waited for long. */
  readonly isRequired?: boolean;
}
