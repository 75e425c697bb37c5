import { createHash, randomUUID } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { DirectoryArchiveError, readDirectoryArchive } from "../../lib/directory-archive.ts";
import type { AppFile, StoredFile } from "../../protocol/apps/app-files.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import { type FileUpload, isSameUpload, OTHER_UPLOAD } from "../../protocol/apps/uploads.ts";
import { DEFAULT_FILES_BYTES, MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { invalidRequest, type RequestIssue } from "../../protocol/errors/request-error.ts";
import { contentId, describeFile, type ContentKey } from "../core/app/files.ts";
import type { DeploymentRecord, FileFetch } from "../core/records.ts";
import type { AgentStore } from "../store/store.ts";
import { type FetchedContent, findFetched } from "./fetched-contents.ts";

/** The contents of the files of one request, to be stored with the records that describe them. */
export class FileIntake {
  readonly #store: Pick<AgentStore, "fileContent">;
  readonly #stateDir: string;
  readonly #maxBytes: number;
  readonly #contents = new Map<string, Uint8Array>();
  /** By the hash of the content. */
  readonly #fetches = new Map<string, FileFetch>();
  #bytes = 0;
  /** Of those that are in memory while they are stored or placed. */
  #bytesInMemory = 0;

  /** @param maxBytes of all files together */
  constructor(store: Pick<AgentStore, "fileContent">, stateDir: string, maxBytes = DEFAULT_FILES_BYTES) {
    this.#store = store;
    this.#stateDir = stateDir;
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
      const found = file.upload === undefined ? this.#takeContent(file, before) : this.#takeUpload(file, file.upload);
      this.#bytes += found.bytes;
      if (found.isInMemory) this.#bytesInMemory += found.bytes;
      const problem = found.issue && { path: `files[${index}].${found.issue.field}`, reason: found.issue.reason };
      if (this.#bytes > this.#maxBytes)
        return invalidRequest([{ path: "files", reason: tooLargeHere(this.#maxBytes) }]);
      if (this.#bytesInMemory > MAX_APP_FILES_BYTES)
        return invalidRequest([{ path: "files", reason: TOO_LARGE_IN_MEMORY }]);
      if (problem) issues.push(problem);
      if (found.file) taken.push(found.file);
    }
    return issues.length > 0 ? invalidRequest(issues) : taken;
  };

  /** Takes a content that the request has, or keeps the one that the app has. */
  #takeContent(file: AppFile, before: StoredFile | undefined): Taken {
    const room = Math.min(this.#maxBytes - this.#bytes, MAX_APP_FILES_BYTES);
    const given = givenContent(file, room);
    if (given === "too large") return { bytes: room + 1, isInMemory: true };
    const stored = given instanceof Uint8Array ? given : before && this.#store.fileContent(contentId(before));
    const fetched = stored || given ? undefined : this.#findFetched(before?.sha256);
    const content = stored ?? fetched;
    const issue = contentIssue(file, { given, content, before });
    const { sha256: _sha256, secret_id: _id, size: _size, ...attributes } = before ?? {};
    // By its hash, a file is described as one with a content is.
    const wanted = wantedOf(given || file.sha256 !== undefined ? file : { ...attributes, ...file });
    if (fetched) return takenFetched(wanted, fetched, issue, "content");
    const bytes = stored ?? new Uint8Array();
    const problem = wanted.directory === true && stored ? archiveProblem(stored) : undefined;
    return {
      file: describeFile(wanted, this.#keep(bytes, wanted.secret === true, before)),
      bytes: bytes.length,
      isInMemory: true,
      issue: problem === undefined ? issue : { field: "content", reason: problem },
    };
  }

  /**
   * The content is fetched if no file of any app on the device has it. An issue: another file of the request, also of another
   * app, names another size or upload for it. What is fetched is verified against one size, so all files have to be counted by it.
   */
  #takeUpload(file: AppFile, upload: FileUpload): Taken {
    const { sha256: packed, bytes, size } = upload;
    const { sha256: hash = "" } = file;
    const wanted = wantedOf(file);
    const content = this.#contents.get(hash) ?? this.#store.fileContent(hash);
    if (content) {
      const problem = file.directory === true ? archiveProblem(content) : undefined;
      return {
        file: describeFile(wanted, this.#keep(content, false, undefined)),
        bytes: content.length,
        isInMemory: true,
        issue: problem === undefined ? undefined : { field: "upload", reason: problem },
      };
    }
    const fetched = this.#findFetched(hash);
    if (fetched) return takenFetched(wanted, fetched, undefined, "upload");
    const isInMemory = wanted.owner !== undefined;
    const known = this.#fetches.get(hash);
    if (known && !isSameUpload({ ...known.upload, size: known.size }, upload))
      return { bytes: size, isInMemory, issue: { field: "upload", reason: OTHER_UPLOAD } };
    this.#fetches.set(hash, { sha256: hash, size, upload: { sha256: packed, bytes } });
    return { file: describeFile(wanted, { size, sha256: hash }), bytes: size, isInMemory };
  }

  #findFetched(hash = ""): FetchedContent | undefined {
    return hash === "" ? undefined : findFetched(this.#stateDir, hash);
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

/** What one requested file comes to. */
interface Taken {
  /** Absent if the request is refused. */
  readonly file?: StoredFile;
  readonly bytes: number;
  /** Whether the content is in memory while it is stored, or while the engine is given it for its owner. */
  readonly isInMemory: boolean;
  readonly issue?: { readonly field: string; readonly reason: string } | undefined;
}

/** A content that was fetched stays where it is. */
function takenFetched(
  wanted: AppFile,
  { sha256: hash, size, isArchive }: FetchedContent,
  issue: Taken["issue"],
  field: string,
): Taken {
  const file = describeFile(wanted, { size, sha256: hash });
  const problem =
    wanted.directory === true && !isArchive ? { field, reason: "is not the archive of a directory" } : issue;
  const isSecret = wanted.secret === true;
  return {
    file,
    bytes: size,
    isInMemory: wanted.owner !== undefined,
    issue: isSecret ? { field: "secret", reason: FETCHED_SECRET } : problem,
  };
}

function contentIssue(
  file: AppFile,
  {
    given,
    content,
    before,
  }: {
    readonly given: Uint8Array | "unreadable" | undefined;
    readonly content: object | undefined;
    readonly before: StoredFile | undefined;
  },
): Taken["issue"] {
  const isOther = file.sha256 !== undefined && file.sha256 !== before?.sha256;
  if (isOther || (file.sha256 !== undefined && !content)) return { field: "sha256", reason: OTHER_CONTENT };
  if (given === "unreadable") return { field: "content_gzip", reason: "cannot be unpacked" };
  return content ? undefined : { field: "content", reason: before ? CONTENT_LOST : NO_CONTENT };
}

const FETCHED_SECRET = "cannot be given of a content that was uploaded; send the content";
const TOO_LARGE_IN_MEMORY = `files with an owner, and those whose contents are in a request, have more than ${MAX_APP_FILES_BYTES} bytes in all; mount a volume instead`;
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
function unpackContent(packed: Uint8Array, maxBytes: number): Buffer | "unreadable" | "too large" {
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
