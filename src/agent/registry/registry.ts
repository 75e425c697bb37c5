import type { Readable } from "node:stream";
import type { Descriptor, ResolvedImage } from "../core/image/image.ts";
import type { Platform } from "../core/image/platform.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";

export type { RegistryAuth } from "../core/image/registry-auth.ts";
export type { Descriptor, ResolvedImage } from "../core/image/image.ts";

export interface BlobOptions {
  /** Byte to begin with. Default 0. */
  readonly offset?: number;
  readonly auth?: RegistryAuth | undefined;
  /** Ends the transfer, also after the stream was handed over. */
  readonly signal: AbortSignal;
}

export interface OpenBlob {
  /** The bytes as they come, not checked against the digest. Whoever gets it reads it to its end or destroys it. */
  readonly stream: Readable;
  /** 206 where the registry begins at the offset asked for, 200 where it begins at the first byte. */
  readonly status: 200 | 206;
  /** Byte the stream begins with: the offset asked for, or 0 where the registry cannot begin in the middle. */
  readonly offset: number;
  /** Bytes still to come, where the registry says so. */
  readonly remaining: number | undefined;
}

/**
 * A client of the OCI distribution specification. Every call rejects with a `RegistryError`, or with the signal's
 * reason once that has aborted.
 */
export interface RegistryClient {
  /**
   * What the reference stands for on this platform: manifest and configuration, checked against their digests. Not one
   * byte of a layer is transferred.
   */
  resolve(
    reference: string,
    platform: Platform,
    auth: RegistryAuth | undefined,
    signal: AbortSignal,
  ): Promise<ResolvedImage>;
  /** Opens a layer. Redirects, an expired token and the credentials are taken care of; a cut stream is the caller's. */
  openBlob(
    image: Pick<ResolvedImage, "registry" | "repository">,
    blob: Descriptor,
    options: BlobOptions,
  ): Promise<OpenBlob>;
}
