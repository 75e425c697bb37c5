import type { KeyObject } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { readLayer, RELEASE_TYPES, unpackedBytesOf } from "../../lib/release/read-release.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { type Statement, verifiedStatement } from "../../lib/release/statement.ts";
import { readWholeRelease } from "../../lib/release/whole-release.ts";
import type { AuditEntry } from "../store/audit.ts";
import {
  type AddReleaseResult,
  type AgentRelease,
  type AgentReleaseStore,
  PIECE_BYTES,
  type ReleasePart,
} from "../store/agent-releases.ts";

/** Pieces that are removed in one transaction: overwriting them keeps others from writing meanwhile. */
const MAX_REMOVED_AT_ONCE = 8;

export interface AddReleaseOptions {
  readonly store: AgentReleaseStore;
  /** An OCI layout. */
  readonly folder: string;
  /** Public keys, Ed25519. */
  readonly keys: readonly KeyObject[];
  /** Unix seconds. */
  readonly now: number;
  readonly auditOf: (release: AgentRelease) => AuditEntry;
}

export interface AddedRelease {
  readonly release: AgentRelease;
  readonly result: AddReleaseResult;
}

/**
 * Checks a release as devices do, by signature and digests, and stores it. May be repeated after it was interrupted. Nothing of it is
 * served before all of it is there.
 *
 * @throws {ReleaseError}
 */
export async function addRelease({ store, folder, keys, now, auditOf }: AddReleaseOptions): Promise<AddedRelease> {
  const readFile = fileReader(folder);
  const { statement, images, documents } = readWholeRelease(readFile, (envelope) => verify(envelope, keys));
  const { version, index: digest } = statement;
  const sizes = images.map(({ architecture, layers }) => {
    const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
    return { architecture, bytes, unpackedBytes: unpackedBytesOf(layers) };
  });
  const release = { version, digest, images: sizes, addedAt: now };
  const known = await store.findRelease(version);
  if (known) return { release: known, result: "exists" };
  await removeUnused(store);
  const parts = new Map<string, ReleasePart>();
  for (const { content, ...document } of documents) {
    parts.set(document.digest, { artifactType: undefined, subject: undefined, ...document });
    await addPieces(store, document.digest, content);
  }
  for (const { digest, bytes } of images.flatMap(({ layers }) => layers)) {
    // In memory one after the other, so that what was checked is what is stored.
    await addPieces(store, digest, readLayer(readFile, { digest, bytes }));
    const kind = { mediaType: RELEASE_TYPES.layer, artifactType: undefined, subject: undefined };
    parts.set(digest, { digest, bytes, ...kind });
  }
  return { release, result: await store.addRelease(release, [...parts.values()], auditOf(release)) };
}

function verify(envelope: Uint8Array, keys: readonly KeyObject[]): Statement {
  try {
    return verifiedStatement(envelope, keys);
  } catch (error) {
    if (!(error instanceof ReleaseError) || error.code !== "untrusted_key") throw error;
    // The message is a device's.
    const message = "none of the keys has signed the release: name the public key of its signer with --key";
    throw new ReleaseError("untrusted_key", message, { cause: error });
  }
}

/** Removes a release. Returns whether there was one. */
export async function removeRelease(store: AgentReleaseStore, version: string, audit: AuditEntry): Promise<boolean> {
  const isRemoved = await store.removeRelease(version, audit);
  await removeUnused(store);
  return isRemoved;
}

/** Removes pieces of releases that were removed, or of an addition that was interrupted. */
async function removeUnused(store: AgentReleaseStore): Promise<void> {
  while ((await store.removeUnusedPieces(MAX_REMOVED_AT_ONCE)) === MAX_REMOVED_AT_ONCE);
}

async function addPieces(store: AgentReleaseStore, digest: string, content: Uint8Array): Promise<void> {
  for (let from = 0; from < content.length; from += PIECE_BYTES)
    await store.addPiece(digest, from / PIECE_BYTES, content.subarray(from, from + PIECE_BYTES));
}

/** Returns what reads plain files of a folder. */
function fileReader(folder: string) {
  return (path: readonly string[], maxBytes: number): Buffer => {
    const name = path.join("/");
    let file: number;
    try {
      // Does not wait for the other end of a pipe.
      file = openSync(join(folder, ...path), constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? "unknown";
      throw new ReleaseError("incomplete", `${name} cannot be read: ${code}`, { cause: error });
    }
    try {
      const stats = fstatSync(file);
      if (!stats.isFile()) throw new ReleaseError("malformed", `${name} is not a plain file`);
      if (stats.size > maxBytes) throw new ReleaseError("malformed", `${name} has more than ${maxBytes} bytes`);
      const content = Buffer.alloc(stats.size);
      if (readSync(file, content) < content.length)
        throw new ReleaseError("incomplete", `${name} has changed while it was read`);
      return content;
    } finally {
      closeSync(file);
    }
  };
}
