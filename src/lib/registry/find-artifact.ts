import { referrersTag } from "../layer-parts/index-artifact.ts";
import { parseJson } from "../parse-json.ts";
import { artifactSchema, type Descriptor, digestOf, type ReferrersDocument, referrersSchema } from "./documents.ts";

/** Annotation with the time of creation, by which the newest of several artifacts is chosen. */
export const CREATED_ANNOTATION = "org.opencontainers.image.created";

/** An artifact that refers to an image. */
export interface FoundArtifact {
  /** Digest of its manifest. */
  readonly digest: string;
  readonly blobs: readonly Descriptor[];
  /** Bytes of the documents that were read to find it. */
  readonly receivedBytes: number;
}

/**
 * Finds the newest artifact of a type that refers to a manifest, by the referrers API, or by the tag that stands in for it
 * (OCI distribution specification 1.1). Resolves to `undefined` if there is none that can be used.
 *
 * @param read reads a document of the repository; `undefined` if the registry does not have it
 * @param subject digest of the manifest
 */
export async function findArtifact(
  read: (path: string) => Promise<Uint8Array | undefined>,
  subject: string,
  artifactType: string,
): Promise<FoundArtifact | undefined> {
  let receivedBytes = 0;
  const readCounted: typeof read = async (path) => {
    const bytes = await read(path);
    receivedBytes += bytes?.length ?? 0;
    return bytes;
  };
  const list =
    (await readCounted(`referrers/${subject}?artifactType=${encodeURIComponent(artifactType)}`)) ??
    (await readCounted(`manifests/${referrersTag(subject)}`));
  const referrers = list && referrersSchema.safeParse(parseJson(list, "registry")).data;
  const digest = referrers && newestOf(referrers, artifactType);
  const bytes = digest && (await readCounted(`manifests/${digest}`));
  if (!digest || !bytes || digestOf(bytes) !== digest) return undefined;
  const artifact = artifactSchema.safeParse(parseJson(bytes, "registry")).data;
  return artifact?.subject.digest === subject ? { digest, blobs: artifact.layers, receivedBytes } : undefined;
}

function newestOf({ manifests }: ReferrersDocument, artifactType: string): string | undefined {
  // Not every registry applies the filter.
  const fitting = manifests.filter((manifest) => manifest.artifactType === artifactType);
  return fitting.toSorted((a, b) => createdAt(a).localeCompare(createdAt(b))).at(-1)?.digest;
}

function createdAt({ annotations }: ReferrersDocument["manifests"][number]): string {
  return annotations?.[CREATED_ANNOTATION] ?? "";
}
