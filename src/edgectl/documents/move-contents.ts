import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { AppFile } from "../../protocol/apps/app-files.ts";
import type { FileUpload } from "../../protocol/apps/uploads.ts";
import { MAX_APP_REQUEST_BYTES, MAX_APPLY_BYTES } from "../../protocol/limits.ts";
import { contentOf } from "./file-content.ts";
import { sourceOf, type UploadSource } from "./large-content.ts";

/** Room for what the service fills in. */
const MARGIN_BYTES = 32 * 1024;

/** Smaller contents stay in the request: the piece of an upload is a request too. */
const MIN_MOVED_BYTES = 16 * 1024;

type Body = Readonly<Record<string, unknown>>;

/** A request, and the uploads that it names. */
export interface MovedContents<T> {
  readonly body: T;
  /** By their SHA-256, in hex. */
  readonly uploads: ReadonlyMap<string, UploadSource>;
}

/**
 * Moves contents of files from a request of one app or of several to uploads, the largest first, if it is larger than the service
 * takes. Secrets stay in it: an upload is known by its hash.
 *
 * @param packed what was packed before, of which the request may name some
 */
export function moveContents<T extends Body>(
  body: T,
  packed: ReadonlyMap<string, UploadSource> = new Map(),
): MovedContents<T> {
  const uploads = new Map<string, UploadSource>();
  for (const { upload } of filesOf(body)) {
    const source = packed.get(upload?.sha256 ?? "");
    if (upload && source) uploads.set(upload.sha256, source);
  }
  /** By the hash of the content: the service takes one for each. Files may have it packed in several ways. */
  const named = new Map<string, FileUpload>();
  const maxBytes = ("apps" in body ? MAX_APPLY_BYTES : MAX_APP_REQUEST_BYTES) - MARGIN_BYTES;
  let bytes = Buffer.byteLength(JSON.stringify(body));
  if (bytes <= maxBytes) return { body, uploads };
  const moved = new Map<AppFile, AppFile>();
  const candidates = filesOf(body).filter((file) => file.secret !== true && sizeOf(file) >= MIN_MOVED_BYTES);
  for (const file of candidates.toSorted((one, other) => sizeOf(other) - sizeOf(one))) {
    if (bytes <= maxBytes) break;
    const { content: _text, content_base64: _base64, content_gzip: gzip, ...rest } = file;
    const content = contentOf(file);
    const hash = sha256(content);
    let upload = named.get(hash);
    if (!upload) {
      const whole = gzip === undefined ? gzipSync(content, { level: 9 }) : Buffer.from(gzip, "base64");
      upload = { sha256: sha256(whole), bytes: whole.length, size: content.length };
      uploads.set(upload.sha256, sourceOf(whole));
      named.set(hash, upload);
    }
    const short = { ...rest, sha256: hash, upload };
    moved.set(file, short);
    bytes -= Buffer.byteLength(JSON.stringify(file)) - Buffer.byteLength(JSON.stringify(short));
  }
  return { body: withFiles(body, (file) => moved.get(file) ?? file), uploads };
}

function sizeOf({ content, content_base64, content_gzip }: AppFile): number {
  return (content ?? content_base64 ?? content_gzip ?? "").length;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function filesOf(body: Body): readonly AppFile[] {
  const files: AppFile[] = [];
  withFiles(body, (file) => {
    files.push(file);
    return file;
  });
  return files;
}

/** Returns the request with other files. What is no app, or no list of files, stays as it is: the service refuses it. */
function withFiles<T extends Body>(body: T, change: (file: AppFile) => AppFile): T {
  const ofApp = <A extends Body>(app: A): A =>
    Array.isArray(app["files"])
      ? {
          ...app,
          files: app["files"].map((file: unknown) => (isObject(file) ? change(file as unknown as AppFile) : file)),
        }
      : app;
  if (!Array.isArray(body["apps"])) return ofApp(body);
  const apps = body["apps"].map((entry: unknown) =>
    isObject(entry) && isObject(entry["app"]) ? { ...entry, app: ofApp(entry["app"]) } : entry,
  );
  return { ...body, apps };
}

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
