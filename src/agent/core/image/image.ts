import type { RegistryErrorKind } from "../error-kind.ts";

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

/** Where a deployment's image comes from, as this run of the agent found it out. */
export type ImageSource =
  | { readonly kind: "registry"; readonly image: ResolvedImage; readonly price: PullCost }
  /** Only the container engine may know the way: what it will cost is not known. */
  | { readonly kind: "engine"; readonly error: { readonly kind: RegistryErrorKind; readonly message: string } };

/** What getting an image onto the machine costs. */
export interface PullCost {
  /** Compressed bytes to fetch. */
  readonly downloadBytes: number;
  /** Bytes it takes on the engine's disk once it is unpacked, as estimated. */
  readonly diskBytes: number;
  /** Compressed bytes of the whole image. */
  readonly imageBytes: number;
  readonly layers: number;
  /** Layers the engine has already. */
  readonly layersPresent: number;
}

/** The price of an image that is there. */
export const NO_COST: PullCost = { downloadBytes: 0, diskBytes: 0, imageBytes: 0, layers: 0, layersPresent: 0 };
