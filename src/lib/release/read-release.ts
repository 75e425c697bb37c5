import { createHash } from "node:crypto";
import { Fields } from "./fields.ts";
import { ReleaseError } from "./release-error.ts";
import type { Statement } from "./statement.ts";

/** Media types of a release, as an OCI layout. */
export const RELEASE_TYPES = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+zstd",
  /** The manifest that carries the signature, and refers to the index. */
  signature: "application/vnd.edge-agent.release-signature.v1",
  envelope: "application/vnd.dsse.envelope.v1+json",
} as const;

/** Annotation of a layer with the bytes of all its files. */
export const UNPACKED_BYTES = "io.edge-agent.release.unpacked-bytes";

export const MAX_DOCUMENT_BYTES = 64 * 1024;
const MAX_LAYER_BYTES = 128 * 1024 * 1024;
/** Node.js with its libraries, and the program: what changes seldom, and what each release changes. */
const MAX_LAYERS = 4;

/** The release for one architecture. */
export interface Release {
  readonly statement: Statement;
  /** In the order in which they are unpacked. */
  readonly layers: readonly ReleaseLayer[];
}

export interface Blob {
  readonly digest: string;
  readonly bytes: number;
}

export interface LayerBlob extends Blob {
  /** Bytes of its files. */
  readonly unpackedBytes: number;
}

export interface ReleaseLayer extends LayerBlob {
  /** Digest of the archive before it was compressed: a device that has its files does not fetch it. */
  readonly diffId: string;
}

/** Reads a file of the layout. Throws a `ReleaseError`, of code `malformed` if it is larger than `maxBytes`. */
export type ReadFile = (path: readonly string[], maxBytes: number) => Buffer;

/**
 * Reads a release of an OCI layout, but for its layers. Everything is reached from the signed digest, and nothing is
 * parsed that is not what the signature is about, except the way to the signature.
 *
 * @param statementOf returns what an envelope states, or throws because it is not trusted
 * @param architecture OCI's name, such as `arm64`
 */
export function readRelease(
  readFile: ReadFile,
  statementOf: (envelope: Uint8Array) => Statement,
  architecture: string,
): Release {
  const read: ReadDocument = (document) => readBlob(readFile, document, MAX_DOCUMENT_BYTES);
  const { statement, manifests } = readSigned(readFile, statementOf, read);
  const chosen = manifests.find((manifest) => manifest.architecture === architecture);
  if (!chosen)
    throw new ReleaseError("wrong_architecture", `release ${statement.version} has nothing for ${architecture}`);
  const manifest = readManifest(chosen, read);
  const config = Fields.parse("the configuration", read({ ...manifest.config, mediaType: RELEASE_TYPES.config }));
  const diffIds = config.object("rootfs").digests("diff_ids");
  const layers = manifest.layers.map((layer, at) => {
    const diffId = diffIds[at];
    if (diffId === undefined) throw new ReleaseError("malformed", "the release has a layer without a diff id");
    return Object.assign(layer, { diffId });
  });
  if (new Set(layers.map(({ diffId }) => diffId)).size < layers.length)
    throw new ReleaseError("malformed", "the release has a layer twice");
  return { statement, layers };
}

/** One of the documents, with what its reader takes it for. */
export interface Document extends Blob {
  readonly mediaType: string;
  readonly artifactType?: string;
}

/** Reads a document. Throws a `ReleaseError` if it has not its digest, or more than `MAX_DOCUMENT_BYTES`. */
export type ReadDocument = (document: Document) => Buffer;

interface Signed {
  readonly statement: Statement;
  /** The manifests of the index, for Linux. */
  readonly manifests: readonly (Blob & { readonly architecture: string })[];
}

/** Reads a layout up to the index that was signed. */
export function readSigned(
  readFile: ReadFile,
  statementOf: (envelope: Uint8Array) => Statement,
  read: ReadDocument,
): Signed {
  const layout = Fields.parse("index.json", readFile(["index.json"], MAX_DOCUMENT_BYTES));
  const statement = statementOf(readEnvelope(layout, read));
  // The size of the index is not signed, only its digest.
  const entry = layout.list("manifests").find((manifest) => manifest.digest("digest") === statement.index);
  if (!entry) throw new ReleaseError("incomplete", "the layout does not have the index that was signed");
  const index = Fields.parse("the index", read({ ...blobOf(entry), mediaType: RELEASE_TYPES.index }));
  const manifests = index.list("manifests").flatMap((manifest) => {
    const platform = manifest.object("platform");
    const architecture = platform.text("architecture");
    return platform.text("os") === "linux" ? [{ ...blobOf(manifest), architecture }] : [];
  });
  return { statement, manifests };
}

interface Manifest {
  readonly config: Blob;
  readonly layers: readonly LayerBlob[];
}

export function readManifest(blob: Blob, read: ReadDocument): Manifest {
  const manifest = Fields.parse("the manifest", read({ ...blob, mediaType: RELEASE_TYPES.manifest }));
  const layers = manifest.list("layers");
  const isExpected = layers.every((layer) => layer.text("mediaType") === RELEASE_TYPES.layer);
  if (!isExpected || layers.length === 0 || layers.length > MAX_LAYERS)
    throw new ReleaseError("malformed", `the manifest has other than 1 to ${MAX_LAYERS} layers compressed with zstd`);
  return {
    config: blobOf(manifest.object("config")),
    layers: layers.map((layer) => {
      const unpackedBytes = Number(layer.object("annotations").text(UNPACKED_BYTES, /^\d{1,10}$/));
      return Object.assign(blobOf(layer), { unpackedBytes });
    }),
  };
}

/** Reads a layer of a release whose digests lead to it. @throws {ReleaseError} */
export function readLayer(readFile: ReadFile, layer: Blob): Buffer {
  return readBlob(readFile, layer, MAX_LAYER_BYTES);
}

function readEnvelope(layout: Fields, read: ReadDocument): Buffer {
  const artifactType = RELEASE_TYPES.signature;
  const entry = layout
    .list("manifests")
    .find((manifest) => manifest.has("artifactType") && manifest.text("artifactType") === artifactType);
  if (!entry) throw new ReleaseError("unsigned", "the release is not signed");
  const signature = Fields.parse(
    "the signature's manifest",
    read({ ...blobOf(entry), mediaType: RELEASE_TYPES.manifest, artifactType }),
  );
  const [envelope] = signature.list("layers");
  if (!envelope) throw new ReleaseError("unsigned", "the release is not signed");
  return read({ ...blobOf(envelope), mediaType: RELEASE_TYPES.envelope });
}

/** Returns the bytes of the files of layers. */
export function unpackedBytesOf(layers: readonly LayerBlob[]): number {
  return layers.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0);
}

export function blobOf(descriptor: Fields): Blob {
  return { digest: descriptor.digest("digest"), bytes: descriptor.count("size") };
}

export function readBlob(readFile: ReadFile, { digest, bytes }: Blob, maxBytes: number): Buffer {
  if (bytes > maxBytes) throw new ReleaseError("malformed", `a part of the release has more than ${maxBytes} bytes`);
  const content = readFile(pathOf(digest), bytes);
  if (content.length !== bytes || digestOf(content) !== digest)
    throw new ReleaseError("digest_mismatch", `a part of the release is not what was signed: ${digest}`);
  return content;
}

export function pathOf(digest: string): readonly string[] {
  return ["blobs", ...digest.split(":")];
}

export function digestOf(content: Uint8Array): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
