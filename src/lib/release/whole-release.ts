import { Fields } from "./fields.ts";
import {
  blobOf,
  type Document,
  type LayerBlob,
  MAX_DOCUMENT_BYTES,
  readBlob,
  type ReadDocument,
  type ReadFile,
  readManifest,
  readSigned,
  RELEASE_TYPES,
} from "./read-release.ts";
import { ReleaseError } from "./release-error.ts";
import type { Statement } from "./statement.ts";

/** Architectures of one release. */
const MAX_IMAGES = 8;
const ARCHITECTURE = /^[a-z0-9]{1,32}$/;
const EMPTY_TYPE = "application/vnd.oci.empty.v1+json";

/** A release for all its architectures, but for the layers. */
export interface WholeRelease {
  readonly statement: Statement;
  readonly images: readonly ReleaseImage[];
  /** Everything else that it consists of, each once. */
  readonly documents: readonly KeptDocument[];
}

export interface ReleaseImage {
  /** OCI's name, such as `arm64`. */
  readonly architecture: string;
  readonly layers: readonly LayerBlob[];
}

export interface KeptDocument extends Document {
  readonly content: Buffer;
  /** Digest of the manifest that it refers to. */
  readonly subject?: string;
}

/**
 * Reads a release of an OCI layout to hand it on: what a registry has of it. As on the device, everything is reached from the signed
 * digest; entries of the layout that are not part of the release are left out.
 *
 * @throws {ReleaseError}
 */
export function readWholeRelease(readFile: ReadFile, statementOf: (envelope: Uint8Array) => Statement): WholeRelease {
  const documents = new Map<string, KeptDocument>();
  const read: ReadDocument = (document) => {
    const content = readBlob(readFile, document, MAX_DOCUMENT_BYTES);
    documents.set(document.digest, { ...document, content });
    return content;
  };
  const { statement, manifests } = readSigned(readFile, statementOf, read);
  const names = new Set(manifests.map(({ architecture }) => architecture));
  if (manifests.length === 0 || manifests.length > MAX_IMAGES || names.size < manifests.length)
    throw new ReleaseError("malformed", `the release is not for 1 to ${MAX_IMAGES} architectures, each once`);
  const images = manifests.map(({ architecture, ...blob }) => {
    if (!ARCHITECTURE.test(architecture))
      throw new ReleaseError("malformed", "the release has an architecture without a valid name");
    const { config, layers } = readManifest(blob, read);
    read({ ...config, mediaType: RELEASE_TYPES.config });
    return { architecture, layers };
  });
  for (const document of [...documents.values()].filter(({ artifactType }) => artifactType !== undefined)) {
    const manifest = Fields.parse("the signature's manifest", document.content);
    const subject = manifest.object("subject").digest("digest");
    // Devices would not find it.
    if (subject !== statement.index)
      throw new ReleaseError("malformed", "the signature's manifest does not refer to the index that was signed");
    read({ ...blobOf(manifest.object("config")), mediaType: EMPTY_TYPE });
    documents.set(document.digest, { ...document, subject });
  }
  return { statement, images, documents: [...documents.values()] };
}
