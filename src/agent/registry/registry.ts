import type { Readable } from "node:stream";
import type { Platform } from "../core/platform.ts";

/** What a registry is shown to get at an image. */
export type RegistryAuth =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** A bearer token for the registry itself, shown as it is. */
  | { readonly kind: "token"; readonly token: string }
  /** A token of the registry's token server, exchanged there for bearer tokens. */
  | { readonly kind: "identity"; readonly username: string; readonly identityToken: string };

/** A piece of an image by its content. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** Bytes, compressed as they are transferred. */
  readonly size: number;
}

/** An image of one platform, as the registry describes it. */
export interface ResolvedImage {
  /** As it was asked for. */
  readonly reference: string;
  /** Host with optional port as references name it, `docker.io` for Docker Hub. */
  readonly registry: string;
  /** As the registry knows it: `library/nginx`. */
  readonly repository: string;
  /** Digest of the platform's manifest. */
  readonly digest: string;
  /** Digest of the list of platforms, where the reference leads to one. */
  readonly indexDigest?: string;
  /** Media type of the platform's manifest. */
  readonly mediaType: string;
  /** The platform's manifest, byte for byte. */
  readonly manifest: Uint8Array;
  readonly config: Descriptor;
  /** The image's configuration, byte for byte. */
  readonly configBytes: Uint8Array;
  /** SHA-256 of each layer's tar, in the order of `layers`: what engines know layers by. */
  readonly diffIds: readonly string[];
  readonly layers: readonly Descriptor[];
}

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
