import { hash, randomBytes } from "node:crypto";
import type { RevisionContent } from "../core/fleets/fleet.ts";
import { revisionPurpose, type Sealer } from "../sealing/sealer.ts";
import type { StoredRevision } from "../store/fleets.ts";

/** Content of a revision as it is sealed, and its hash. */
export interface EncodedContent {
  readonly bytes: Uint8Array;
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string;
}

/**
 * Encodes content byte for byte as it will be stored. A random salt is part of it: the hash is not sealed, and without the salt
 * short secrets in environments could be guessed from it.
 */
export function encodeContent({ apps, agent }: RevisionContent): EncodedContent {
  const bytes = Buffer.from(JSON.stringify({ salt: randomBytes(16).toString("hex"), apps, agent }));
  return { bytes, hash: hash("sha256", bytes, "hex") };
}

/** Returns the content of a stored revision. Throws if it cannot be opened. */
export function openContent(sealer: Sealer, stored: StoredRevision): RevisionContent {
  const { fleetId, number } = stored.revision;
  const bytes = sealer.open(stored, revisionPurpose(fleetId, number));
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as RevisionContent;
}

/** Whether two contents say the same. */
export function isSameContent(one: RevisionContent, other: RevisionContent): boolean {
  return textOf(one) === textOf(other);
}

function textOf({ apps, agent }: RevisionContent): string {
  return JSON.stringify({ apps, agent });
}
