import { createHash } from "node:crypto";
import { UPLOAD_PIECE_BYTES } from "../../protocol/apps/uploads.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { invalidRequest, type RequestIssue } from "../../protocol/errors/request-error.ts";
import { unixNow } from "../../lib/clock.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { NamedUpload } from "../core/named-uploads.ts";
import type { ByteRange } from "../releases/byte-range.ts";
import type { AuditEntry } from "../store/audit.ts";
import {
  type AddPieceResult,
  MAX_UPLOADS,
  MAX_UPLOADS_BYTES,
  type NewPiece,
  type Upload,
  type UploadHolders,
  type UploadKey,
  type UploadStore,
} from "../store/uploads.ts";

/** The repository of uploads, whose blobs devices fetch. */
export const UPLOAD_REPOSITORY = "uploads";

/** One that was used so recently is about to be named by a request, in seconds. */
const MIN_UNUSED_S = 3600;
/** Removed in one transaction: overwriting them keeps others from writing meanwhile. */
const MAX_REMOVED_AT_ONCE = 8;

/** Revisions that a refusal names. */
const MAX_HOLDERS = 3;

/** How long an account that has no room is not looked at again, in seconds, and of how many that is known. */
const FULL_S = 60;
const MAX_FULL_ACCOUNTS = 1_000;

/** Contents of apps' files that accounts upload for their devices. */
export class Uploads {
  readonly #store: UploadStore;
  readonly #clock: ServiceClock;
  readonly #onFull: () => void;
  /** Until when no room is looked for in an account that has none, and what holds it. */
  readonly #full = new Map<string, { readonly until: number; readonly error: EdgeError }>();

  /** @param onFull called when an account has as many uploads as it may */
  constructor(store: UploadStore, clock: ServiceClock, onFull = (): void => {}) {
    this.#store = store;
    this.#clock = clock;
    this.#onFull = onFull;
  }

  /**
   * Stores one piece of an upload. With the last one that is missing, the bytes are compared with the hash: then devices can fetch
   * them, or they are removed. Errors: `QuotaExceeded`, `InvalidRequest`.
   */
  async addPiece(
    key: UploadKey,
    { number, bytes, content }: { readonly number: number; readonly bytes: number; readonly content: Uint8Array },
    audit: AuditEntry,
  ): Promise<Upload> {
    requirePieceSize(number, bytes, content);
    const piece = { bytes, position: number, content };
    const at = unixNow(this.#clock);
    let added = await this.#store.addPiece(key, piece, at);
    if (added === "too_many" && !this.#isFull(key.accountId, at)) added = await this.#addWithRoom(key, piece, at);
    if (added === "too_many") {
      this.#onFull();
      throw this.#full.get(key.accountId)?.error ?? (await this.#noteFull(key.accountId, at));
    }
    if (added === "other_size")
      throw invalidRequest([{ path: "bytes", reason: "is not the size that this upload was begun with" }]);
    const upload = await this.#store.findUpload(key);
    if (!upload) throw new EdgeError("ServiceUnavailable", "The upload was removed meanwhile; send it again.");
    return upload.isComplete || upload.receivedBytes < upload.bytes ? upload : await this.#complete(upload, audit);
  }

  /**
   * Notes that a command uses its uploads, so that they stay. Error: `InvalidRequest` for one that the account does not have.
   */
  async use(accountId: string, uploads: readonly NamedUpload[]): Promise<void> {
    const at = unixNow(this.#clock);
    const issues: RequestIssue[] = [];
    for (const { path, upload } of uploads) {
      const isThere = await this.#store.useUpload({ accountId, sha256: upload.sha256 }, upload.bytes, at);
      if (!isThere) issues.push({ path, reason: MISSING });
    }
    if (issues.length > 0) throw invalidRequest(issues);
  }

  /** Notes that a revision is to be rolled out. Error: `InvalidRequest` if uploads of it have given way to others. */
  async useOfRevision(fleetId: string, number: number): Promise<void> {
    if (await this.#store.useOfRevision(fleetId, number, unixNow(this.#clock))) return;
    const reason =
      `revision ${number} needs an upload that was removed to make room for others, as the fleet did not use the revision any more; ` +
      "apply its file again, which makes a new revision";
    throw invalidRequest([{ path: "revision", reason }]);
  }

  /** Finds an upload for the device of an asset: one that a command which the device is carrying out names. */
  findForDevice(key: UploadKey, assetUuid: string): Promise<Upload | undefined> {
    return this.#store.findForAsset(key, assetUuid);
  }

  /** Reads bytes of an upload, piece by piece. Error: `NotFound`, if it is removed meanwhile. */
  async *read(key: UploadKey, { first, last }: ByteRange): AsyncGenerator<Uint8Array> {
    for (let position = Math.floor(first / UPLOAD_PIECE_BYTES); position * UPLOAD_PIECE_BYTES <= last; position++) {
      const piece = await this.#store.readPiece(key, position);
      if (!piece) throw new EdgeError("NotFound", "The upload was removed.");
      const begin = position * UPLOAD_PIECE_BYTES;
      yield piece.subarray(Math.max(0, first - begin), last + 1 - begin);
    }
  }

  async #complete(upload: Upload, audit: AuditEntry): Promise<Upload> {
    const hash = createHash("sha256");
    for await (const piece of this.read(upload, { first: 0, last: upload.bytes - 1 })) hash.update(piece);
    if (hash.digest("hex") !== upload.sha256) {
      await this.#store.removeIncomplete(upload);
      throw invalidRequest([{ path: "content_base64", reason: OTHER_HASH }]);
    }
    const isComplete = await this.#store.completeUpload(upload, unixNow(this.#clock), audit);
    return { ...upload, isComplete };
  }

  #isFull(accountId: string, at: number): boolean {
    const isFull = at < (this.#full.get(accountId)?.until ?? 0);
    if (!isFull) this.#full.delete(accountId);
    return isFull;
  }

  /** Removes what the account does not need, then one by one what is needed for revisions that are not in use. */
  async #addWithRoom(key: UploadKey, piece: NewPiece, at: number): Promise<AddPieceResult> {
    const { accountId } = key;
    const before = at - MIN_UNUSED_S;
    let isFree = (await this.#store.removeUnused(before, MAX_UPLOADS, accountId)) > 0;
    let added: AddPieceResult = "too_many";
    for (let removed = 0; removed <= MAX_UPLOADS && added === "too_many"; removed++) {
      if (!isFree && !(await this.#store.removeIdle(before, accountId))) break;
      isFree = false;
      await this.#removePieces();
      added = await this.#store.addPiece(key, piece, at);
    }
    return added;
  }

  /** Looked at once a minute. */
  async #noteFull(accountId: string, at: number): Promise<EdgeError> {
    const error = quotaError(await this.#store.findHolders(accountId, at - MIN_UNUSED_S, MAX_HOLDERS));
    if (this.#full.size >= MAX_FULL_ACCOUNTS) this.#full.clear();
    this.#full.set(accountId, { until: at + FULL_S, error });
    return error;
  }

  async #removePieces(): Promise<void> {
    while ((await this.#store.removeUnusedPieces(MAX_REMOVED_AT_ONCE)) === MAX_REMOVED_AT_ONCE);
  }
}

const OTHER_HASH = "the bytes of all pieces do not have the SHA-256 of the path; the upload was removed";
const MISSING = "the service does not have this upload, or not all of it: PUT /v1/uploads/{sha256}/pieces/{number}";

function requirePieceSize(number: number, bytes: number, content: Uint8Array): void {
  const left = bytes - number * UPLOAD_PIECE_BYTES;
  const wanted = Math.min(left, UPLOAD_PIECE_BYTES);
  if (wanted <= 0)
    throw invalidRequest([{ path: "number", reason: `an upload of ${bytes} bytes has no piece with this number` }]);
  if (content.length === wanted) return;
  const reason = `has ${content.length} bytes, and piece ${number} of ${bytes} bytes has ${wanted}`;
  throw invalidRequest([{ path: "content_base64", reason }]);
}

function quotaError({ revisions, deployments, recent }: UploadHolders): EdgeError {
  const holders = [
    ...revisions.map(
      ({ fleet, revision, bytes }) => `${mebibytes(bytes)} by revision ${revision} of the fleet ${fleet}`,
    ),
    ...(deployments > 0 ? [`${mebibytes(deployments)} by deployments that have not ended`] : []),
    ...(recent > 0 ? [`${mebibytes(recent)} by uploads of the last hour`] : []),
  ];
  const message =
    `The account has as many uploads as it may, ${MAX_UPLOADS} or ${MAX_UPLOADS_BYTES / 1024 ** 2} MiB` +
    (holders.length > 0 ? `; they are held: ${holders.join(", ")}. ` : ". ") +
    "A fleet holds those of its newest revision, its stable one, and what its rollouts bring or may go back to: roll out a revision " +
    "without them, or remove the fleet. The others are free when the deployment has ended, or the hour is over.";
  return new EdgeError("QuotaExceeded", message, {
    quota: "uploads",
    limit: MAX_UPLOADS,
    limit_bytes: MAX_UPLOADS_BYTES,
    held: { revisions, deployments_bytes: deployments, recent_bytes: recent },
  });
}

function mebibytes(bytes: number): string {
  return bytes < 1024 ** 2 ? "less than 1 MiB" : `${Math.round(bytes / 1024 ** 2)} MiB`;
}
