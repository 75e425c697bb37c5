import { createHash } from "node:crypto";
import type { AppFile } from "../../protocol/apps/app-files.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { contentOf } from "../documents/file-content.ts";
import { Failure } from "../failure.ts";
import type { GroupRequest } from "./request.ts";

/** An app of the device, with its files as the device reports them. */
export interface InstalledFiles {
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A hash takes about as many bytes. */
const MIN_BYTES = 100;

interface RequestedApp {
  readonly app: { readonly name: string; readonly files?: readonly AppFile[] };
}

/** Returns the request with hashes in place of the contents that the device has, which then do not travel again. */
export function withoutKnownFiles(request: GroupRequest, installed: readonly InstalledFiles[]): GroupRequest {
  const apps = request["apps"] as readonly RequestedApp[];
  return { ...request, apps: apps.map((entry) => withHashes(entry, installed)) };
}

function withHashes(entry: RequestedApp, installed: readonly InstalledFiles[]): RequestedApp {
  const { name, files } = entry.app;
  if (!files) return entry;
  const known = installed.find((app) => app.name === name)?.spec["files"];
  return { ...entry, app: { ...entry.app, files: withKnownHashes(files, known) } };
}

/** Returns files with hashes in place of the contents that the app has. @param installed the app's files, as the device reports them */
export function withKnownHashes(files: readonly AppFile[], installed: unknown): AppFile[] {
  const known = knownHashes(installed);
  return files.map((file) => withHash(file, known));
}

/** Whether the device refuses a hash: the app's file is another one by now, or its content is lost. */
export function isUnknownFile(error: unknown): boolean {
  const isRefused = error instanceof Failure && error.code === "InvalidRequest";
  return isRefused && /files\[\d+\]\.sha256/.test(JSON.stringify(error.details ?? {}));
}

/** The hashes of the contents of an app's files, by target. */
function knownHashes(files: unknown): ReadonlyMap<string, string> {
  const entries = Array.isArray(files) ? (files as readonly Readonly<Record<string, unknown>>[]) : [];
  return new Map(
    entries.flatMap(({ target, sha256 }) => {
      return typeof target === "string" && typeof sha256 === "string" ? [[normalizePath(target), sha256] as const] : [];
    }),
  );
}

function withHash(file: AppFile, known: ReadonlyMap<string, string>): AppFile {
  const { content, content_base64, content_gzip, upload, ...others } = file;
  // Nothing has to be uploaded of a content that the app has.
  if (upload) return known.get(normalizePath(file.target)) === file.sha256 ? others : file;
  if (file.secret === true || (content ?? content_base64 ?? content_gzip ?? "").length < MIN_BYTES) return file;
  const sha256 = createHash("sha256").update(contentOf(file)).digest("hex");
  return known.get(normalizePath(file.target)) === sha256 ? { ...others, sha256 } : file;
}
