import { posix } from "node:path";
import {
  type DirectoryEntry,
  isArchivePath,
  MAX_DIRECTORY_ENTRIES,
  readDirectoryArchive,
  writeDirectoryArchive,
} from "../../lib/directory-archive.ts";
import { type AppFile, isDirectoryTarget } from "../../protocol/apps/app-files.ts";
import { MAX_APP_FILES, MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import type { Value } from "../documents/value.ts";
import { contentFields, contentOf } from "../documents/file-content.ts";
import type { ServiceDraft } from "./service.ts";

const MAX = `${MAX_APP_FILES_BYTES / 1024 ** 2} MiB`;
const TOO_MUCH = "Put the files into the image, or on the device, and mount them there by their absolute path.";

/** What a file gets beside its content. */
export interface FileSettings {
  readonly mode?: string | undefined;
  readonly owner?: string | undefined;
  readonly secret?: boolean | undefined;
}

/** Adds a file of this machine to an app. */
export function addLocalFile(
  value: Value,
  name: string,
  target: string,
  service: ServiceDraft,
  local: LocalFiles,
  settings: FileSettings = {},
): void {
  const bytes = readBounded(value, name, local);
  const rights = bytes && settings.mode === undefined ? rightsOf(value, name, local) : {};
  if (bytes && rights) addFile(value, target, bytes, service, { ...settings, ...rights });
}

/** All users in an app may read a file, but one that others may not read here: that keeps its rights and its owner. */
function rightsOf(value: Value, name: string, local: LocalFiles): FileSettings | undefined {
  try {
    const mode = local.modeOf(name);
    if ((mode & 0o004) === 0) return { mode: octal(mode & 0o555), owner: local.ownerOf(name) };
    return (mode & 0o100) === 0 ? {} : { mode: "0555" };
  } catch (error) {
    return refuseUnreadable(value, name, error);
  }
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

/** Notes what is taken from elsewhere on this machine: a file from elsewhere may name anything. */
export function noteOutside(value: Value, name: string, local: LocalFiles): void {
  if (!local.isInside(name)) value.note(`takes ${name}, which is outside of the directory of this file.`);
}

/** Adds a file to an app. */
export function addFile(
  value: Value,
  target: string,
  content: Buffer,
  service: ServiceDraft,
  { mode, owner, secret }: FileSettings,
): void {
  const file = {
    target,
    ...contentFields(content),
    ...(mode !== undefined && { mode }),
    ...(owner !== undefined && { owner }),
    ...(secret && { secret }),
  };
  service.append("files", file, value.place);
}

/**
 * Adds a directory of this machine to an app: as a whole, as compose mounts it, or file by file where one of its files is not
 * for all users, whose owner it keeps.
 */
export function addLocalDirectory(
  value: Value,
  name: string,
  target: string,
  service: ServiceDraft,
  local: LocalFiles,
): void {
  const read = readDirectory(value, name, local);
  if (!read) return;
  if (read.length === 0) {
    value.refuse(
      `mounts ${name}, which holds no files.`,
      `For a directory that the app writes to, use a named volume: data:${target}`,
    );
    return;
  }
  const isForAll = read.every(({ owner }) => owner === undefined);
  if (isForAll) {
    const file = { target: posix.normalize(target).replace(/(?<=.)\/$/, ""), ...directoryFields(read) };
    service.append("files", file, value.place);
  } else appendFiles(value, name, target, read, service);
}

/** Returns the fields of a file that have a directory of this machine as a whole. `undefined`: why not is said. */
export function readWholeDirectory(value: Value, name: string, local: LocalFiles): Partial<AppFile> | undefined {
  const read = readDirectory(value, name, local);
  const own = read?.find(({ owner }) => owner !== undefined);
  if (!own) return read && directoryFields(read);
  return value.refuse(
    `names ${name}, where others may not read ${own.path}.`,
    "Name each file by itself, which keeps its rights.",
  );
}

/** A file of a directory. */
interface ReadFile extends FileSettings {
  /** Relative to the directory. */
  readonly path: string;
  readonly content: Buffer;
}

/** Reads what is in a directory. `undefined`: it is too much, or something cannot be read, which is said. */
function readDirectory(value: Value, name: string, local: LocalFiles): ReadFile[] | undefined {
  const files = listFiles(value, name, local);
  if (!files) return undefined;
  const bytes = sizeOfAll(value, files, local);
  if (bytes === undefined) return undefined;
  if (bytes > MAX_APP_FILES_BYTES) {
    const much = `${files.length} files, ${Math.ceil(bytes / 1024)} KiB`;
    return value.refuse(`mounts ${name} with ${much}: at most ${MAX} come with an app.`, TOO_MUCH);
  }
  if (local.isInside(name)) noteLinked(value, name, files, local);
  const read: ReadFile[] = [];
  for (const file of files) {
    const content = readBounded(value, file, local);
    const rights = content && rightsOf(value, file, local);
    if (!content || !rights) return undefined;
    const path = posix.relative(posix.normalize(name), posix.normalize(file));
    if (!isArchivePath(path)) {
      return value.refuse(`mounts ${name} with a path that is too long or deep, or has control characters: ${path}`);
    }
    read.push({ path, content, ...rights });
  }
  return read;
}

/** Notes the links in a directory that lead elsewhere, of a directory the link and none of its files. */
function noteLinked(value: Value, name: string, files: readonly string[], local: LocalFiles): void {
  // As `dirname` names it: without a slash at its end.
  const insides = new Map([[posix.normalize(name).replace(/(?<=.)\/$/, ""), true]]);
  const isInside = (directory: string): boolean => {
    const known = insides.get(directory);
    if (known !== undefined) return known;
    const is = isInside(posix.dirname(directory)) && local.isInside(directory);
    insides.set(directory, is);
    return is;
  };
  const links = new Set<string>();
  for (const file of files) {
    let path = posix.normalize(file);
    if (isInside(path)) continue;
    while (!isInside(posix.dirname(path))) path = posix.dirname(path);
    links.add(path);
  }
  for (const link of links) noteOutside(value, link, local);
}

function directoryFields(files: readonly ReadFile[]): Partial<AppFile> {
  const entries = files.map(({ path, content, mode = "0444" }) => ({ path, content, mode: Number.parseInt(mode, 8) }));
  return { directory: true, ...contentFields(writeDirectoryArchive(entries)) };
}

function appendFiles(
  value: Value,
  name: string,
  target: string,
  files: readonly ReadFile[],
  service: ServiceDraft,
): void {
  if (files.length + service.lengthOf("files") > MAX_APP_FILES) {
    value.refuse(
      `mounts ${name} with ${files.length} files, some of which others may not read here: such files come one by one, at most ${MAX_APP_FILES} with an app.`,
      TOO_MUCH,
    );
    return;
  }
  for (const { path, content, ...settings } of files)
    addFile(value, posix.join(target, path), content, service, settings);
}

/**
 * Takes the directories of an app apart that cannot be mounted as a whole: those with another mount of the app inside, which
 * would need a place in them, and those with files of the engine. Directories in them without any stay whole.
 */
export function finishDirectories(service: ServiceDraft): void {
  const {
    files = [],
    volumes = [],
    tmpfs = [],
    devices = [],
  } = service.fields as Partial<Record<string, readonly { readonly target?: string; readonly local?: string }[]>>;
  const targets = [...files, ...volumes, ...tmpfs, ...devices].flatMap(({ target, local }) => target ?? local ?? []);
  const isWhole = (file: AppFile): boolean => file.directory !== true || isDirectoryTarget(file.target, targets);
  const drafts = (files as readonly AppFile[]).map((file, index) => ({
    file,
    place: service.placeOf(["files", index]),
  }));
  if (drafts.every(({ file }) => isWhole(file))) return;
  service.unset("files");
  for (const { file, place } of drafts) {
    for (const part of isWhole(file) ? [file] : partsOf(file, targets)) service.append("files", part, place);
  }
  if (service.lengthOf("files") <= MAX_APP_FILES) return;
  const apart = drafts.filter(({ file }) => !isWhole(file)).map(({ file }) => file.target);
  service.value.refuse(
    `has mounts, or files of the engine, inside of ${apart.join(" and ")}, whose files and directories beside them then come one by one: at most ${MAX_APP_FILES} with an app.`,
    TOO_MUCH,
  );
}

/** Returns the largest parts of a directory that have nothing inside, but for what another mount hides. */
function partsOf(directory: AppFile, targets: readonly string[]): AppFile[] {
  const others = targets.map((target) => posix.normalize(target)).filter((target) => target !== directory.target);
  const whole = new Map<string, DirectoryEntry[]>();
  const parts: AppFile[] = [];
  for (const { path, mode, content } of readDirectoryArchive(contentOf(directory))) {
    const above = path.split("/").map((_, index, names) => names.slice(0, index + 1).join("/"));
    const isHidden = above.some((each) => others.includes(posix.join(directory.target, each)));
    if (!content || isHidden) continue;
    const part = above.slice(0, -1).find((each) => isDirectoryTarget(posix.join(directory.target, each), targets));
    if (part === undefined) {
      const target = posix.join(directory.target, path);
      parts.push({ target, ...contentFields(Buffer.from(content)), ...(mode !== 0o444 && { mode: octal(mode) }) });
    } else {
      const entries = whole.get(part) ?? [];
      whole.set(part, entries);
      entries.push({ path: posix.relative(part, path), mode, content });
    }
  }
  for (const [part, entries] of whole) {
    const target = posix.join(directory.target, part);
    parts.push({ target, directory: true, ...contentFields(writeDirectoryArchive(entries)) });
  }
  return parts;
}

/** `undefined`: one of them has gone since the directory was read. */
function sizeOfAll(value: Value, files: readonly string[], local: LocalFiles): number | undefined {
  let sum = 0;
  for (const file of files) {
    try {
      sum += local.sizeOf(file);
    } catch (error) {
      return refuseUnreadable(value, file, error);
    }
  }
  return sum;
}

/** All files below a directory, links followed. `undefined`: there are too many, or something that cannot be read. */
function listFiles(value: Value, name: string, local: LocalFiles): string[] | undefined {
  const files: string[] = [];
  const directories = [name];
  for (let index = 0; index < directories.length; index++) {
    const entries = listDirectory(value, directories[index] ?? name, local);
    if (!entries) return undefined;
    for (const entry of entries) {
      const kind = local.kindOf(entry);
      if (kind === "directory") directories.push(entry);
      else if (kind === "file") files.push(entry);
      else return value.refuse(`mounts ${name}, where ${entry} is neither a file nor a directory that can be read.`);
      if (files.length + directories.length > MAX_DIRECTORY_ENTRIES) {
        return value.refuse(`mounts ${name} with more than ${MAX_DIRECTORY_ENTRIES} files and directories.`, TOO_MUCH);
      }
    }
  }
  return files;
}

function listDirectory(value: Value, name: string, local: LocalFiles): string[] | undefined {
  try {
    return local.list(name);
  } catch (error) {
    return refuseUnreadable(value, name, error);
  }
}

function refuseUnreadable(value: Value, name: string, error: unknown): undefined {
  const { code = "unknown reason" } = error as NodeJS.ErrnoException;
  return value.refuse(`names ${name}, which cannot be read (${code}).`);
}

/** Reads a file of this machine. `undefined`: it is too large, or cannot be read. */
export function readBounded(
  value: Value,
  name: string,
  local: LocalFiles,
  maxBytes = MAX_APP_FILES_BYTES,
): Buffer | undefined {
  try {
    const size = local.sizeOf(name);
    if (size > maxBytes && maxBytes !== MAX_APP_FILES_BYTES) {
      return value.refuse(`names ${name}, which is larger than ${maxBytes / 1024} KiB.`);
    }
    if (size > maxBytes) {
      return value.refuse(
        `names ${name} with ${Math.ceil(size / 1024)} KiB: at most ${MAX} come with an app.`,
        TOO_MUCH,
      );
    }
    const bytes = local.read(name);
    if (bytes.length <= maxBytes) return bytes;
    return value.refuse(`names ${name}, which grew beyond ${maxBytes / 1024} KiB while it was read.`);
  } catch (error) {
    return refuseUnreadable(value, name, error);
  }
}
