import type { RegistryErrorKind } from "../error-kind.ts";

/** A blob of an image, as in the OCI image specification. */
export interface Descriptor {
  readonly mediaType: string;
  /** `sha256:` and 64 hexadecimal digits. */
  readonly digest: string;
  /** Size in bytes, compressed as transferred. */
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** An image for one platform, as the registry describes it. */
export interface ResolvedImage {
  /** As requested. */
  readonly reference: string;
  /** Host with optional port as in references; `docker.io` for Docker Hub. */
  readonly registry: string;
  /** Name in the registry, such as `library/nginx`. */
  readonly repository: string;
  /** Digest of the platform's manifest. */
  readonly digest: string;
  /** Digest of the image index, if the reference names one. */
  readonly indexDigest?: string;
  /** That index, byte for byte. */
  readonly index?: Uint8Array;
  /** Media type of the platform's manifest. */
  readonly mediaType: string;
  /** The platform's manifest, byte for byte. */
  readonly manifest: Uint8Array;
  readonly config: Descriptor;
  /** The image's configuration, byte for byte. */
  readonly configBytes: Uint8Array;
  /** SHA-256 of each layer's tar, in the order of `layers`: engines identify layers by it. */
  readonly diffIds: readonly string[];
  readonly layers: readonly Descriptor[];
}

/** An image on the device, as the engine describes it. */
export interface PresentImage {
  readonly id: string;
  /** Names with digests, `repository@sha256:...`, by which registries know it. */
  readonly repoDigests: readonly string[];
}

/**
 * Where a deployment's image comes from. Not stored: resolved again after a restart of the agent.
 *
 * `before`: id of the image that had the name on the device when this was found out; `undefined` if there was none
 */
export type ImageSource = { readonly before: string | undefined } & (
  | { readonly kind: "registry"; readonly image: ResolvedImage; readonly cost: PullCost }
  /** The engine is to pull it, as the agent cannot resolve it: its cost is unknown. */
  | { readonly kind: "engine"; readonly error: LookupError }
);

/** Why the agent could not resolve an image. */
export interface LookupError {
  readonly kind: RegistryErrorKind;
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** What it costs to get an image onto the device. */
export interface PullCost {
  /** Compressed bytes to download. */
  readonly downloadBytes: number;
  /** Estimated bytes on the engine's disk after unpacking. */
  readonly diskBytes: number;
  /** Compressed bytes of the whole image. */
  readonly imageBytes: number;
  readonly layers: number;
  /** Layers the engine already has. */
  readonly layersPresent: number;
  /** Compressed bytes of the missing layers that are not downloaded, because other images on the device have their contents. */
  readonly reusedBytes: number;
  /** Bytes of `downloadBytes` that are contents of files, which come from the service. */
  readonly fileBytes?: number;
  /** Bytes that the engine receives. More than `downloadBytes` where layers are put together on the device. */
  readonly transferBytes: number;
}

/** The cost of an image that is on the device. */
export const NO_COST: PullCost = {
  downloadBytes: 0,
  diskBytes: 0,
  imageBytes: 0,
  layers: 0,
  layersPresent: 0,
  reusedBytes: 0,
  transferBytes: 0,
};
