import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { type ReadFile, readLayer, RELEASE_TYPES } from "../../lib/release/read-release.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { unverifiedStatement } from "../../lib/release/statement.ts";
import { readWholeRelease, type WholeRelease } from "../../lib/release/whole-release.ts";
import { EXIT, Failure } from "../failure.ts";
import { pushManifest, pushReferrer } from "./artifacts.ts";
import { pushBlob } from "./blobs.ts";
import type { RegistrySession } from "./session.ts";

/** A release of the agent that is in a registry. */
export interface PushedRelease {
  readonly version: string;
  /** Reference of its index. */
  readonly image: string;
  readonly digest: string;
  readonly architectures: readonly string[];
}

const MANIFESTS: ReadonlySet<string> = new Set([RELEASE_TYPES.index, RELEASE_TYPES.manifest]);

/**
 * Reads a release that `npm run package` has written, all but its layers. Every digest is checked; devices, which have the keys,
 * check the signature. Errors: exit code 2.
 */
export function readReleaseFolder(folder: string): WholeRelease {
  return asFailure(folder, () => readWholeRelease(fileReader(folder), unverifiedStatement));
}

/**
 * Brings a release to a registry, as devices fetch it: its layers, its documents, the index under the tag, and the signature
 * as a referrer. What the repository has is not sent again. Errors: exit codes 1, 2, 3 and 5.
 *
 * @param onLayer called before each layer
 */
export async function pushRelease(
  session: RegistrySession,
  folder: string,
  { statement, images, documents }: WholeRelease,
  onLayer: (architecture: string, bytes: number) => void,
): Promise<PushedRelease> {
  const { version, index: digest } = statement;
  const { host, repository } = session.address;
  // A version may have what a tag may not.
  const tag = session.address.tag ?? version.replaceAll(/[^\w.-]/g, "_");
  for (const { architecture, layers } of images)
    for (const layer of layers) {
      onLayer(architecture, layer.bytes);
      const bytes = asFailure(folder, () => readLayer(fileReader(folder), layer));
      await pushBlob(session, layer.digest, new Blob([new Uint8Array(bytes)]));
    }
  for (const document of documents)
    if (!MANIFESTS.has(document.mediaType))
      await pushBlob(session, document.digest, new Blob([new Uint8Array(document.content)]));
  // A registry may refuse a manifest that names what it does not have: the index comes after its images, and its signature last.
  const [index, signature] = [
    documents.find((document) => document.digest === digest),
    documents.find(({ subject }) => subject === digest),
  ];
  if (!index || !signature) throw new TypeError("a whole release has an index and a signature");
  const others = documents.filter((each) => MANIFESTS.has(each.mediaType) && each !== index && each !== signature);
  for (const { digest: name, mediaType, content } of others)
    await pushManifest(session, name, mediaType, new Uint8Array(content));
  await pushManifest(session, tag, index.mediaType, new Uint8Array(index.content));
  await pushReferrer(session, {
    subject: digest,
    artifactType: RELEASE_TYPES.signature,
    bytes: new Uint8Array(signature.content),
    what: "signature",
  });
  const architectures = images.map(({ architecture }) => architecture);
  return { version, image: `${host}/${repository}:${tag}`, digest, architectures };
}

function fileReader(folder: string): ReadFile {
  return (path, maxBytes) => {
    const file = join(folder, ...path);
    const size = statSync(file, { throwIfNoEntry: false })?.size;
    if (size === undefined) throw new ReleaseError("incomplete", `${path.join("/")} is missing`);
    if (size > maxBytes) throw new ReleaseError("malformed", `${path.join("/")} has more than ${maxBytes} bytes`);
    return readFileSync(file);
  };
}

function asFailure<T>(folder: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ReleaseError)) throw error;
    throw new Failure(`${folder} is no release that a device would take: ${error.message}.`, {
      exitCode: EXIT.usage,
      hint: "Give the folder edge-agent_VERSION.oci that `npm run package -- --sign KEY.pem` has written.",
      cause: error,
    });
  }
}
