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

/** `other_size`: the upload was begun with another number of bytes. */
export type AddPieceResult = "added" | "too_many" | "other_size";

/**
 * Uploads, in pieces, so that no call is long and no transfer takes more memory than a piece. An upload is needed while an
 * unfinished deployment of its account, or a revision of a fleet, names it.
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
  /** Removes at most so many pieces of uploads that are not there any more. Returns how many. */
  removeUnusedPieces(limit: number): Promise<number>;
}
