import { buffer } from "node:stream/consumers";
import {
  digestOf,
  pathOf,
  type ReadFile,
  readRelease,
  type Release,
  RELEASE_TYPES,
} from "../../lib/release/read-release.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import type { Statement } from "../../lib/release/statement.ts";
import type { Descriptor, RegistryAuth, RegistryClient, ResolvedImage } from "../registry/registry.ts";
import type { ReleasePart } from "./handover.ts";

const MAX_DOCUMENT_BYTES = 64 * 1024;

/** Where a release is in a registry, and how to get in. */
export interface ReleaseLocation {
  /** With the digest of the index, once that is known. */
  readonly reference: string;
  readonly auth: RegistryAuth | undefined;
}

/** A release in a registry, all of it but its layers. */
export interface FoundRelease {
  readonly image: ResolvedImage;
  readonly release: Release;
  /** The documents of its layout, as the updater reads it. */
  readonly documents: readonly ReleasePart[];
  /** Bytes of the documents. */
  readonly receivedBytes: number;
}

/**
 * Reads a release in a registry, but for its layers. Documents have a bound, and so few of them are asked for that no index
 * makes the agent ask for more.
 *
 * @param statementOf returns what an envelope states, or throws because it is not trusted
 * @param architecture OCI's name, such as `arm64`
 * Rejects with a `ReleaseError`, a `RegistryError`, or the signal's reason.
 */
export async function findRelease(
  registry: Pick<RegistryClient, "resolve" | "findArtifact" | "openBlob">,
  { reference, auth }: ReleaseLocation,
  {
    statementOf,
    architecture,
  }: { readonly statementOf: (envelope: Uint8Array) => Statement; readonly architecture: string },
  signal: AbortSignal,
): Promise<FoundRelease> {
  const image = await registry.resolve(reference, { os: "linux", architecture }, auth, signal);
  const { index, indexDigest } = image;
  if (!index || indexDigest === undefined)
    throw new ReleaseError("malformed", `${reference} is a single image, and a release is an index of several`);
  const signed = { ...image, digest: indexDigest };
  const signature = await registry.findArtifact(signed, RELEASE_TYPES.signature, auth, signal, { isRequired: true });
  const [descriptor] = signature?.blobs ?? [];
  if (!signature || !descriptor)
    throw new ReleaseError(
      "unsigned",
      `the registry has no signature of ${reference}: it lists none that refers to the release`,
    );
  if (descriptor.size > MAX_DOCUMENT_BYTES)
    throw new ReleaseError("malformed", "the signature of the release is too large");
  const { stream } = await registry.openBlob(image, descriptor, { auth, signal });
  const envelope = await readBounded(stream, descriptor);
  const documents = toLayout({ index, envelope, manifest: image.manifest, config: image.configBytes });
  const release = readRelease(readerOf(documents), statementOf, architecture);
  const receivedBytes = index.length + image.manifest.length + image.configBytes.length + envelope.length;
  return { image, release, documents, receivedBytes: receivedBytes + signature.receivedBytes };
}

async function readBounded(stream: AsyncIterable<Uint8Array>, { size }: Descriptor): Promise<Buffer> {
  let left = size;
  const bounded = async function* () {
    for await (const chunk of stream) {
      left -= chunk.length;
      if (left < 0)
        throw new ReleaseError("digest_mismatch", "the signature of the release is not what the registry lists");
      yield chunk;
    }
  };
  return await buffer(bounded());
}

interface Documents {
  readonly index: Uint8Array;
  readonly envelope: Uint8Array;
  /** That of this device's image. */
  readonly manifest: Uint8Array;
  readonly config: Uint8Array;
}

/**
 * Returns the documents as those of an OCI layout. What leads to the signature is nothing that is signed, so it is written anew:
 * the updater takes it from the layout of a person, too.
 */
function toLayout({ index, envelope, manifest, config }: Documents): ReleasePart[] {
  const signature = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: RELEASE_TYPES.manifest,
      artifactType: RELEASE_TYPES.signature,
      layers: [describe(RELEASE_TYPES.envelope, envelope)],
    }),
  );
  const manifests = [
    describe(RELEASE_TYPES.index, index),
    { ...describe(RELEASE_TYPES.manifest, signature), artifactType: RELEASE_TYPES.signature },
  ];
  const blobs = [index, envelope, manifest, config, signature];
  return [
    { path: ["index.json"], content: Buffer.from(JSON.stringify({ schemaVersion: 2, manifests })) },
    ...blobs.map((content) => ({ path: pathOf(digestOf(content)), content })),
  ];
}

function describe(mediaType: string, content: Uint8Array) {
  return { mediaType, digest: digestOf(content), size: content.length };
}

function readerOf(documents: readonly ReleasePart[]): ReadFile {
  return (path, maxBytes) => {
    const found = documents.find((document) => document.path.join("/") === path.join("/"));
    if (!found) throw new ReleaseError("incomplete", `the release has no ${path.join("/")}`);
    if (found.content.length > maxBytes)
      throw new ReleaseError("malformed", `${path.join("/")} has more than ${maxBytes} bytes`);
    return Buffer.from(found.content);
  };
}
