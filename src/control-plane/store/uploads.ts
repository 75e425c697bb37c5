import type { AuditEntry } from "./audit.ts";

/** Uploads of one account, and their bytes together. */
export const MAX_UPLOADS = 200;
export const MAX_UPLOADS_BYTES = 512 * 1024 * 1024;

/** How long an upload is kept after its last use where nothing needs it, in seconds. */
export const UPLOAD_KEPT_S = 24 * 3600;

/** What an upload is known by. */
export interface UploadKey {
  readonly accountId: string;
  /** SHA-256 of its bytes, in hex. */
  readonly sha256: string;
}

/** The content of a file, compressed, as an account has uploaded it for its devices. */
export interface Upload extends UploadKey {
  readonly bytes: number;
  readonly receivedBytes: number;
  /** Whether all pieces are there, and have the hash together. */
  readonly isComplete: boolean;
  /** Unix seconds. */
  readonly usedAt: number;
}

/** One piece. All but the last have the same size, which the caller takes care of. */
export interface NewPiece {
  /** Of the whole upload. */
  readonly bytes: number;
  /** Counts from 0. */
  readonly position: number;
  readonly content: Uint8Array;
}

/** A revision in use that needs uploads, and their bytes. */
export interface HoldingRevision {
  readonly fleet: string;
  readonly revision: number;
  readonly bytes: number;
}

/** What an account needs its uploads for, in bytes. One may be counted several times. */
export interface UploadHolders {
  /** Those with the most bytes. */
  readonly revisions: readonly HoldingRevision[];
  readonly deployments: number;
  readonly recent: number;
}

/** `other_size`: the upload was begun with another number of bytes. */
export type AddPieceResult = "added" | "too_many" | "other_size";

/**
 * Uploads, in pieces, so that no call is long and no transfer takes more memory than a piece. An upload is needed while an
 * unfinished deployment of its account, or a revision of a fleet, names it. A revision is in use if it is its fleet's newest or stable
 * one, that of a rollout under way or the one before that or before the newest rollout. Others are idle: they give way to new uploads.
 */
export interface UploadStore {
  /** Stores a piece, and begins its upload. One that is there stays as it is. */
  addPiece(key: UploadKey, piece: NewPiece, at: number): Promise<AddPieceResult>;
  /** Makes an upload one that devices can fetch, if all of its bytes are there. Returns whether it is. */
  completeUpload(key: UploadKey, at: number, audit?: AuditEntry): Promise<boolean>;
  /** Removes an upload that is not complete, as one whose bytes do not have its hash. */
  removeIncomplete(key: UploadKey): Promise<void>;
  findUpload(key: UploadKey): Promise<Upload | undefined>;
  /** Returns the uploads of an account, the last used first. */
  listUploads(accountId: string): Promise<readonly Upload[]>;
  /** Notes that a complete upload of so many bytes is used now. Returns whether there is one. */
  useUpload(key: UploadKey, bytes: number, at: number): Promise<boolean>;
  /** Finds a complete upload that an unfinished deployment of the asset names. */
  findForAsset(key: UploadKey, assetUuid: string): Promise<Upload | undefined>;
  readPiece(key: UploadKey, position: number): Promise<Uint8Array | undefined>;
  /** Removes at most so many uploads that nothing needs and that were used last before this time. Returns how many. */
  removeUnused(before: number, limit: number, accountId?: string): Promise<number>;
  /** Removes the upload that was used last before all others, and before this time, of those that only idle revisions need. Returns whether there was one. */
  removeIdle(before: number, accountId: string): Promise<boolean>;
  /** Notes that the uploads of a revision are used now. Returns whether all of them are there. */
  useOfRevision(fleetId: string, number: number, at: number): Promise<boolean>;
  /** Returns what holds the uploads of an account. @param since of the time that counts as recent @param limit of revisions */
  findHolders(accountId: string, since: number, limit: number): Promise<UploadHolders>;
  /** Removes at most so many pieces of uploads that are not there any more. Returns how many. */
  removeUnusedPieces(limit: number): Promise<number>;
}
