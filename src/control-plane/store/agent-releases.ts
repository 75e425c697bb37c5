import type { AuditEntry } from "./audit.ts";

/** Releases that are kept. Those with the same Node.js take some 80 MB of the database and its backups together, and 1 MB each. */
export const MAX_AGENT_RELEASES = 10;
/** Bytes of one piece, the most that is read of a part at once. */
export const PIECE_BYTES = 128 * 1024;

/** A release of the agent, for devices to fetch. */
export interface AgentRelease {
  readonly version: string;
  /** Of the image index. */
  readonly digest: string;
  /** By architecture. */
  readonly images: readonly AgentReleaseImage[];
  /** Unix seconds. */
  readonly addedAt: number;
}

export interface AgentReleaseImage {
  /** OCI's name, such as `arm64`. */
  readonly architecture: string;
  /** Of the layers, as they are fetched by a device that has none of them. */
  readonly bytes: number;
  readonly unpackedBytes: number;
}

/** A document or layer of a release. */
export interface ReleasePart {
  readonly digest: string;
  readonly bytes: number;
  readonly mediaType: string;
  readonly artifactType: string | undefined;
  /** Digest of the manifest that it refers to. */
  readonly subject: string | undefined;
}

/** `incomplete`: pieces of a part are missing. */
export type AddReleaseResult = "added" | "exists" | "incomplete" | "too_many";

/** Releases, and their parts in pieces, so that no call is long and no transfer takes more memory than a piece. */
export interface AgentReleaseStore {
  /** Stores a piece of a part before its release. @param position counts from 0; all pieces but the last have `PIECE_BYTES` */
  addPiece(digest: string, position: number, content: Uint8Array): Promise<void>;
  /** Adds a release whose pieces are all there. */
  addRelease(release: AgentRelease, parts: readonly ReleasePart[], audit?: AuditEntry): Promise<AddReleaseResult>;
  /** Returns whether there was one. Its pieces stay until `removeUnusedPieces`. */
  removeRelease(version: string, audit?: AuditEntry): Promise<boolean>;
  /** Removes at most so many pieces of parts that no release has. Returns how many. */
  removeUnusedPieces(limit: number): Promise<number>;
  /** Returns the releases, the last one that was added first. */
  listReleases(): Promise<readonly AgentRelease[]>;
  findRelease(version: string): Promise<AgentRelease | undefined>;
  /** Finds a part of any release. */
  findPart(digest: string): Promise<ReleasePart | undefined>;
  /** Returns the parts that refer to a manifest, once each. */
  listReferrers(subject: string): Promise<readonly ReleasePart[]>;
  readPiece(digest: string, position: number): Promise<Uint8Array | undefined>;
}
