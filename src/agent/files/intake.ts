import { createHash, randomUUID } from "node:crypto";
import { type AppFile, type StoredFile, tooLarge } from "../../protocol/app-files.ts";
import type { EdgeError } from "../../protocol/errors.ts";
import { MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import { normalizePath } from "../../protocol/normalize-path.ts";
import { invalidRequest, type RequestIssue } from "../../protocol/request-error.ts";
import { contentId, describeFile, type ContentKey } from "../core/app/files.ts";
import type { AgentStore } from "../store/store.ts";

/** The contents of the files of one request, to be stored with the record that describes them. */
export class FileIntake {
  readonly #store: Pick<AgentStore, "fileContent">;
  readonly #contents = new Map<string, Uint8Array>();

  constructor(store: Pick<AgentStore, "fileContent">) {
    this.#store = store;
  }

  /** Contents by their ids. */
  get contents(): ReadonlyMap<string, Uint8Array> {
    return this.#contents;
  }

  /** Error: `InvalidRequest` for a file without a content that the app does not have, and for too many bytes. */
  readonly take = (
    requested: readonly AppFile[],
    current: readonly StoredFile[],
  ): readonly StoredFile[] | EdgeError => {
    const issues: RequestIssue[] = [];
    const taken = requested.map((file, index): StoredFile => {
      const before = current.find(({ target }) => target === normalizePath(file.target));
      const given = givenContent(file);
      const content = given ?? (before && this.#store.fileContent(contentId(before)));
      if (!content) issues.push({ path: `files[${index}].content`, reason: before ? CONTENT_LOST : NO_CONTENT });
      const { sha256: _sha256, secret_id: _id, size: _size, ...attributes } = before ?? {};
      const wanted = given ? file : { ...attributes, ...file };
      return describeFile(wanted, this.#keep(content ?? new Uint8Array(), wanted.secret === true, before));
    });
    const total = taken.reduce((sum, { size }) => sum + size, 0);
    if (issues.length === 0 && total > MAX_APP_FILES_BYTES) issues.push({ path: "files", reason: tooLarge(total) });
    return issues.length > 0 ? invalidRequest(issues) : taken;
  };

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

const NO_CONTENT = "is missing, and the app has no file at this target that could stay";
const CONTENT_LOST = "is missing, and the one that the app has is not on the device any more; send it again";

function givenContent({ content, content_base64 }: AppFile): Uint8Array | undefined {
  if (content !== undefined) return Buffer.from(content);
  return content_base64 === undefined ? undefined : Buffer.from(content_base64, "base64");
}

/** Whether a content is the one that the file describes, as far as that can be told of a secret. */
export function isContentOf({ size, sha256: hash }: StoredFile, content: Uint8Array): boolean {
  return content.length === size && (hash === undefined || hash === sha256(content));
}

function sha256(content: Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
