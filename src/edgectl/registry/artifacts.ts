import {
  type ArtifactBlob,
  INDEX_ARTIFACT_TYPE,
  type IndexedLayer,
  indexedLayers,
  referrersTag,
} from "../../lib/layer-parts/index-artifact.ts";
import { ACCEPT, digestOf, OCI_INDEX, OCI_MANIFEST } from "../../lib/registry/documents.ts";
import { CREATED_ANNOTATION, findArtifact } from "../../lib/registry/find-artifact.ts";
import { discard, type FollowedResponse } from "../../lib/registry/http.ts";
import { EXIT, Failure } from "../failure.ts";
import { pushBlob } from "./blobs.ts";
import { parseDocument, type WritableIndex, writableIndexSchema } from "./documents.ts";
import { wrongContent } from "./failures.ts";
import type { PlatformImage } from "./images.ts";
import type { RegistrySession } from "./session.ts";

const EMPTY = new TextEncoder().encode("{}");
const EMPTY_CONFIG = { mediaType: "application/vnd.oci.empty.v1+json", digest: digestOf(EMPTY), size: EMPTY.length };

/** The index artifact of an image. */
export interface FoundIndex {
  readonly digest: string;
  /** By the digest of the image's layer. */
  readonly layers: ReadonlyMap<string, IndexedLayer>;
}

/**
 * Finds the newest index artifact of an image as devices do: by the referrers API, or by the tag that stands in for it. Resolves
 * to `undefined` if there is none that devices would use.
 */
export async function findIndexArtifact(
  session: RegistrySession,
  image: Pick<PlatformImage, "manifest">,
): Promise<FoundIndex | undefined> {
  const found = await findReferrer(session, image.manifest.digest, INDEX_ARTIFACT_TYPE);
  return found && { digest: found.digest, layers: indexedLayers(found.blobs) };
}

async function findReferrer(session: RegistrySession, subject: string, artifactType: string) {
  const read = async (path: string): Promise<Uint8Array | undefined> => {
    const response = await session.send(path, { headers: { Accept: ACCEPT } });
    if (response.status === 200) return await session.readDocument(response);
    discard(response);
    return undefined;
  };
  return await findArtifact(read, subject, artifactType);
}

export interface NewArtifact {
  readonly image: Pick<PlatformImage, "manifest">;
  /** Blobs that the registry has. */
  readonly blobs: readonly ArtifactBlob[];
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Pushes the manifest of an index artifact, and lists it under the image's tag of referrers where the registry does not list it
 * by itself. Resolves to its digest. Errors: exit codes 1, 3 and 5.
 */
export async function pushIndexArtifact(session: RegistrySession, { image, blobs, now }: NewArtifact): Promise<string> {
  await pushBlob(session, EMPTY_CONFIG.digest, new Blob([EMPTY]));
  const annotations = { [CREATED_ANNOTATION]: new Date(now).toISOString() };
  const { mediaType, digest: subject, size } = image.manifest;
  const bytes = encode({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: INDEX_ARTIFACT_TYPE,
    config: EMPTY_CONFIG,
    layers: blobs,
    subject: { mediaType, digest: subject, size },
    annotations,
  });
  return await pushReferrer(session, { subject, artifactType: INDEX_ARTIFACT_TYPE, annotations, bytes, what: "index" });
}

interface Referrer {
  /** Digest of the manifest that it refers to. */
  readonly subject: string;
  readonly artifactType: string;
  /** As they are in its manifest. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Its manifest. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** For people. */
  readonly what: string;
}

/**
 * Pushes a manifest that refers to another one, and lists it where the registry does not do that by itself, in place of others of its
 * type. Resolves to its digest. Errors: exit codes 1, 3 and 5.
 */
export async function pushReferrer(
  session: RegistrySession,
  { subject, artifactType, annotations, bytes, what }: Referrer,
): Promise<string> {
  const digest = digestOf(bytes);
  const response = await pushManifest(session, digest, OCI_MANIFEST, bytes);
  // The header says that the registry lists the artifact by itself (OCI distribution specification 1.1).
  if (response.headers["oci-subject"] === undefined) {
    const entry = {
      mediaType: OCI_MANIFEST,
      digest,
      size: bytes.length,
      artifactType,
      ...(annotations && { annotations }),
    };
    await listUnderTag(session, referrersTag(subject), entry);
  }
  if ((await findReferrer(session, subject, artifactType))?.digest === digest) return digest;
  throw new Failure(`The registry ${session.address.host} took the ${what} and does not list it for the image.`, {
    exitCode: EXIT.failed,
    hint: "Devices would not find it. The registry may cache lists of referrers, or not support them.",
  });
}

/** Puts the entry into the list in place of earlier ones of its type. What others have listed stays. */
async function listUnderTag(
  session: RegistrySession,
  tag: string,
  entry: { readonly artifactType: string },
): Promise<void> {
  const response = await session.send(`manifests/${tag}`, { headers: { Accept: ACCEPT } });
  const { host } = session.address;
  let before: WritableIndex = { manifests: [] };
  if (response.status === 200) {
    const parsed = writableIndexSchema.safeParse(parseDocument(await session.readDocument(response))).data;
    if (!parsed) throw wrongContent(host, `something under the tag ${tag} that is not a list of referrers`);
    before = parsed;
  } else if (response.status !== 404) {
    throw await session.refusal(`the request for ${tag}`, response);
  } else discard(response);
  const others = before.manifests.filter(({ artifactType }) => artifactType !== entry.artifactType);
  const list = encode({ ...before, schemaVersion: 2, mediaType: OCI_INDEX, manifests: [...others, entry] });
  await pushManifest(session, tag, OCI_INDEX, list);
}

export async function pushManifest(
  session: RegistrySession,
  name: string,
  type: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<FollowedResponse> {
  const response = await session.send(`manifests/${name}`, { method: "PUT", headers: { "Content-Type": type }, body });
  if (response.status !== 201) throw await session.refusal("a manifest", response);
  discard(response);
  return response;
}

function encode(value: unknown): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(value));
}
