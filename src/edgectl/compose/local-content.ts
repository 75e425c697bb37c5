import { posix } from "node:path";
import {
  type DirectoryEntry,
  isArchivePath,
  MAX_DIRECTORY_ENTRIES,
  readDirectoryArchive,
  writeDirectoryArchive,
} from "../../lib/directory-archive.ts";
import { type AppFile, isDirectoryTarget } from "../../protocol/apps/app-files.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { MAX_APP_FILES, MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import type { Value } from "../documents/value.ts";
import { contentFields, contentOf } from "../documents/file-content.ts";
import {
  DEFAULT_MODE,
  type FileSettings,
  isLargeFile,
  type ListedFile,
  MAX,
  packDirectory,
  packFile,
  refuseUnreadable,
  sizeOfAll,
  TOO_MUCH,
} from "./pack-local.ts";
import type { ServiceDraft } from "./service.ts";

/** Adds a file of this machine to an app. */
export function addLocalFile(
  value: Value,
  name: string,
  target: string,
  service: ServiceDraft,
  local: LocalFiles,
  settings: FileSettings = {},
): void {
  const isLarge = settings.secret !== true && isLargeFile(name, local);
  const bytes = isLarge ? undefined : readBounded(value, name, local);
  if (!bytes && !isLarge) return;
  const rights = settings.mode === undefined ? rightsOf(value, name, local) : {};
  if (!rights) return;
  const all = { ...settings, ...rights };
  if (bytes) addFile(value, target, bytes, service, all);
  else if (all.owner === undefined) {
    const packed = packFile(value, name, local);
    if (packed)
      service.append("files", { target, ...packed, ...(all.mode !== undefined && { mode: all.mode }) }, value.place);
  } else {
    value.refuse(
      `names ${name} with more than ${MAX}, which others may not read here, or which has an owner.`,
      TOO_MUCH,
    );
  }
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
  const at = posix.normalize(target).replace(/(?<=.)\/$/, "");
  if (!Array.isArray(read)) {
    service.append("files", { target: at, ...read }, value.place);
    return;
  }
  if (read.length === 0) {
    value.refuse(
      `mounts ${name}, which holds no files.`,
      `For a directory that the app writes to, use a named volume: data:${target}`,
    );
    return;
  }
  const isForAll = read.every(({ owner }) => owner === undefined);
  if (isForAll) {
    service.append("files", { target: at, ...directoryFields(read) }, value.place);
  } else appendFiles(value, name, target, read, service);
}

/** Returns the fields of a file that have a directory of this machine as a whole. `undefined`: why not is said. */
export function readWholeDirectory(value: Value, name: string, local: LocalFiles): Partial<AppFile> | undefined {
  const read = readDirectory(value, name, local);
  if (!Array.isArray(read)) return read;
  const own = read.find(({ owner }) => owner !== undefined);
  if (!own) return directoryFields(read);
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

/**
 * Reads what is in a directory; packs it where it is too large for a request. `undefined`: it is too much, or something cannot be
 * read, which is said.
 */
function readDirectory(value: Value, name: string, local: LocalFiles): ReadFile[] | Partial<AppFile> | undefined {
  const files = listFiles(value, name, local);
  if (!files) return undefined;
  const bytes = sizeOfAll(value, files, local);
  if (bytes === undefined) return undefined;
  if (local.isInside(name)) noteLinked(value, name, files, local);
  const isLarge = bytes > MAX_APP_FILES_BYTES;
  const listed: ListedFile[] = [];
  for (const file of files) {
    const rights = rightsOf(value, file, local);
    if (!rights) return undefined;
    const path = posix.relative(posix.normalize(name), posix.normalize(file));
    if (!isArchivePath(path)) {
      return value.refuse(`mounts ${name} with a path that is too long or deep, or has control characters: ${path}`);
    }
    listed.push({ path, file, ...rights });
  }
  if (isLarge) return packDirectory(value, name, listed, local);
  const read: ReadFile[] = [];
  for (const { file, ...settings } of listed) {
    const content = readBounded(value, file, local);
    if (!content) return undefined;
    read.push({ ...settings, content });
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
  const entries = files.map(({ path, content, mode = DEFAULT_MODE }) => ({
    path,
    content,
    mode: Number.parseInt(mode, 8),
  }));
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
  const large = drafts.find(({ file }) => !isWhole(file) && file.upload !== undefined);
  if (large) {
    service.value.refuse(
      `has mounts, or files of the engine, inside of ${large.file.target}, whose files then come one by one: they have more than ${MAX}.`,
      TOO_MUCH,
    );
    return;
  }
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
  const others = new Set(targets.map(normalizePath));
  others.delete(directory.target);
  const whole = new Map<string, DirectoryEntry[]>();
  const parts: AppFile[] = [];
  for (const { path, mode, content } of readDirectoryArchive(contentOf(directory))) {
    const above = path.split("/").map((_, index, names) => names.slice(0, index + 1).join("/"));
    const isHidden = above.some((each) => others.has(posix.join(directory.target, each)));
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
