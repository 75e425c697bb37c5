import { createHash, randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { DirectoryArchiveError, readDirectoryArchive } from "../../lib/directory-archive.ts";
import type { AppFile, StoredFile } from "../../protocol/apps/app-files.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import { type FileUpload, isSameUpload, OTHER_UPLOAD } from "../../protocol/apps/uploads.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { invalidRequest, type RequestIssue } from "../../protocol/errors/request-error.ts";
import { contentId, DEFAULT_FILES_BYTES, describeFile, type ContentKey } from "../core/app/files.ts";
import type { DeploymentRecord, FileFetch } from "../core/records.ts";
import type { AgentStore } from "../store/store.ts";

/** The contents of the files of one request, to be stored with the records that describe them. */
export class FileIntake {
  readonly #store: Pick<AgentStore, "fileContent">;
  readonly #maxBytes: number;
  readonly #contents = new Map<string, Uint8Array>();
  /** By the hash of the content. */
  readonly #fetches = new Map<string, FileFetch>();
  #bytes = 0;

  /** @param maxBytes of all files together */
  constructor(store: Pick<AgentStore, "fileContent">, maxBytes = DEFAULT_FILES_BYTES) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /** Contents by their ids. */
  get contents(): ReadonlyMap<string, Uint8Array> {
    return this.#contents;
  }

  /** Returns a record with what has to be fetched before its files can be placed. */
  withFetches(record: DeploymentRecord): DeploymentRecord {
    const hashes = new Set((record.spec?.files ?? []).map(({ sha256: hash = "" }) => hash));
    const fetches = [...hashes].flatMap((hash) => this.#fetches.get(hash) ?? []);
    return fetches.length > 0 ? { ...record, fetches } : record;
  }

  /**
   * Error: `InvalidRequest` for a file without a content that the app does not have, for one that cannot be unpacked or
   * is no archive of a directory, for a content with two uploads, and for too many bytes, of which no more are unpacked.
   */
  readonly take = (
    requested: readonly AppFile[],
    current: readonly StoredFile[],
  ): readonly StoredFile[] | EdgeError => {
    const issues: RequestIssue[] = [];
    const taken: StoredFile[] = [];
    for (const [index, file] of requested.entries()) {
      const before = current.find(({ target }) => target === normalizePath(file.target));
      if (file.upload !== undefined) {
        const hash = file.sha256 ?? "";
        const stored = this.#takeUpload(file, hash, file.upload);
        if (stored) taken.push(stored);
        const known = file.directory === true ? this.#contents.get(hash) : undefined;
        const problem = stored ? known && archiveProblem(known) : OTHER_UPLOAD;
        if (problem !== undefined) issues.push({ path: `files[${index}].upload`, reason: problem });
        if (this.#bytes > this.#maxBytes)
          return invalidRequest([{ path: "files", reason: tooLargeHere(this.#maxBytes) }]);
        continue;
      }
      const given = givenContent(file, this.#maxBytes - this.#bytes);
      const content = given instanceof Uint8Array ? given : before && this.#store.fileContent(contentId(before));
      const isOther = file.sha256 !== undefined && file.sha256 !== before?.sha256;
      if (isOther || (file.sha256 !== undefined && !content)) {
        issues.push({ path: `files[${index}].sha256`, reason: OTHER_CONTENT });
      } else if (given === "unreadable")
        issues.push({ path: `files[${index}].content_gzip`, reason: "cannot be unpacked" });
      else if (!content) issues.push({ path: `files[${index}].content`, reason: before ? CONTENT_LOST : NO_CONTENT });
      this.#bytes += content?.length ?? 0;
      if (given === "too large" || this.#bytes > this.#maxBytes) {
        return invalidRequest([{ path: "files", reason: tooLargeHere(this.#maxBytes) }]);
      }
      const { sha256: _sha256, secret_id: _id, size: _size, ...attributes } = before ?? {};
      // By its hash, a file is described as one with a content is.
      const wanted = wantedOf(given || file.sha256 !== undefined ? file : { ...attributes, ...file });
      const problem = wanted.directory === true && content ? archiveProblem(content) : undefined;
      if (problem !== undefined) issues.push({ path: `files[${index}].content`, reason: problem });
      taken.push(describeFile(wanted, this.#keep(content ?? new Uint8Array(), wanted.secret === true, before)));
    }
    return issues.length > 0 ? invalidRequest(issues) : taken;
  };

  /**
   * The content is fetched if no file of any app on the device has it. `undefined`: another file of the request, also of another
   * app, names another size or upload for it. What is fetched is verified against one size, so all files have to be counted by it.
   */
  #takeUpload(file: AppFile, hash: string, upload: FileUpload): StoredFile | undefined {
    const { sha256: packed, bytes, size } = upload;
    const content = this.#contents.get(hash) ?? this.#store.fileContent(hash);
    this.#bytes += content?.length ?? size;
    if (content) return describeFile(wantedOf(file), this.#keep(content, false, undefined));
    const known = this.#fetches.get(hash);
    if (known && !isSameUpload({ ...known.upload, size: known.size }, upload)) return undefined;
    this.#fetches.set(hash, { sha256: hash, size, upload: { sha256: packed, bytes } });
    return describeFile(wantedOf(file), { size, sha256: hash });
  }

  #keep(content: Uint8Array, isSecret: boolean, before: StoredFile | undefined): ContentKey {
    const id = isSecret ? this.#secretId(content, before) : sha256(content);
    this.#contents.set(id, content);
    return { size: content.length, ...(isSecret ? { secret_id: id } : { sha256: id }) };
  }

  /** A secret whose content stays keeps its id, by which an update without a change is recognized. */
  #secretId(content: Uint8Array, before: StoredFile | undefined): string {
    const known = before?.secret_id;
    const stored = known === undefined ? undefined : this.#store.fileContent(known);
    return known !== undefined && stored && Buffer.compare(stored, content) === 0 ? known : randomUUID();
  }
}

const OTHER_CONTENT = "is not that of a content that the app has at this target; send the content";
const NO_CONTENT = "is missing, and the app has no file at this target that could stay";
const CONTENT_LOST = "is missing, and the one that the app has is not on the device any more; send it again";

function tooLargeHere(maxBytes: number): string {
  return (
    `the files of the request have more than ${maxBytes} bytes in all, the most that this device takes ` +
    "(`policy.max_files_bytes`); mount a volume instead"
  );
}

/** @param maxBytes no more are unpacked */
function givenContent(
  { content, content_base64, content_gzip }: AppFile,
  maxBytes: number,
): Uint8Array | "unreadable" | "too large" | undefined {
  if (content !== undefined) return Buffer.from(content);
  if (content_gzip === undefined)
    return content_base64 === undefined ? undefined : Buffer.from(content_base64, "base64");
  return unpackContent(Buffer.from(content_gzip, "base64"), maxBytes);
}

/** @param maxBytes no more are unpacked, but one */
export function unpackContent(packed: Uint8Array, maxBytes: number): Buffer | "unreadable" | "too large" {
  try {
    // The library takes no bound of 0.
    return gunzipSync(packed, { maxOutputLength: maxBytes + 1 });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE" ? "too large" : "unreadable";
  }
}

/** One that is kept may be a directory, of which a request does not know: it has no attributes of its own. */
function wantedOf(file: AppFile): AppFile {
  return file.directory === true ? { target: file.target, directory: true } : file;
}

/** Says what is wrong with the archive of a directory. */
function archiveProblem(content: Uint8Array): string | undefined {
  try {
    readDirectoryArchive(content);
    return undefined;
  } catch (error) {
    if (!(error instanceof DirectoryArchiveError)) throw error;
    return `is not the archive of a directory: it ${error.message}`;
  }
}

/** Whether a content is the one that the file describes, as far as that can be told of a secret. */
export function isContentOf({ size, sha256: hash }: Pick<StoredFile, "size" | "sha256">, content: Uint8Array): boolean {
  return content.length === size && (hash === undefined || hash === sha256(content));
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
