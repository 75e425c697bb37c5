import { referrersTag } from "../../lib/layer-parts/index-artifact.ts";
import { type Referrers, parseArtifact, parseReferrers, verifyDigest } from "./manifest.ts";
import { RegistryError } from "./registry-error.ts";
import type { FoundArtifact } from "./registry.ts";

/** Annotation with the time of creation, by which the newest of several artifacts is chosen. */
const CREATED = "org.opencontainers.image.created";

/** Reads a document of the repository; `undefined` if the registry does not have it. */
type ReadDocument = (path: string) => Promise<Uint8Array | undefined>;

/**
 * Finds the newest artifact of a type that refers to a manifest, by the referrers API, or by the tag that stands in for it
 * (OCI distribution specification 1.1). Resolves to `undefined` if there is none that can be used. Rejects with a
 * `RegistryError` if the registry does not respond.
 *
 * @param digest of the manifest
 */
export async function findArtifact(
  read: ReadDocument,
  digest: string,
  artifactType: string,
): Promise<FoundArtifact | undefined> {
  let receivedBytes = 0;
  const readCounted: ReadDocument = async (path) => {
    const bytes = await read(path);
    receivedBytes += bytes?.length ?? 0;
    return bytes;
  };
  try {
    const type = encodeURIComponent(artifactType);
    const list =
      (await readCounted(`referrers/${digest}?artifactType=${type}`).catch(absentIfSilent)) ??
      (await readCounted(`manifests/${referrersTag(digest)}`));
    const name = list && newestOf(parseReferrers(list), artifactType);
    const bytes = name && (await readCounted(`manifests/${name}`));
    if (!name || !bytes) return undefined;
    verifyDigest(bytes, name);
    const { subject, layers } = parseArtifact(bytes);
    return subject.digest === digest ? { blobs: layers, receivedBytes } : undefined;
  } catch (error) {
    if (error instanceof RegistryError && (error.kind === "unsupported" || error.kind === "wrong_content")) {
      return undefined;
    }
    throw error;
  }
}

/** Some registries and proxies never respond to what they do not know. One that is not there at all does not have the tag either. */
function absentIfSilent(error: unknown): undefined {
  if (error instanceof RegistryError && error.kind === "registry_unreachable") return undefined;
  throw error;
}

function newestOf({ manifests }: Referrers, artifactType: string): string | undefined {
  // Not every registry applies the filter.
  const fitting = manifests.filter((manifest) => manifest.artifactType === artifactType);
  return fitting.toSorted((a, b) => createdAt(a).localeCompare(createdAt(b))).at(-1)?.digest;
}

function createdAt({ annotations }: Referrers["manifests"][number]): string {
  return annotations?.[CREATED] ?? "";
}
