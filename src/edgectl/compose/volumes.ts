import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { Value } from "../documents/value.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { addLocalDirectory, addLocalFile, noteOutside } from "./local-content.ts";
import { mountTarget } from "./merge.ts";
import { sizeOf } from "./quantities.ts";
import { readTmpfsMode, tmpfsEntry } from "./tmpfs.ts";
import { refuseUnknown } from "./unknown.ts";
import { boundPath, memoryOptions, volumeSource } from "./volume-definitions.ts";
import type { ComposeFile, Converter, ServiceDraft } from "./service.ts";

/** A mount in either syntax. */
interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadonly: boolean;
  /** Whether a volume begins empty. */
  readonly isEmpty?: boolean;
  /** Directory in the volume that is mounted. */
  readonly subpath?: string | undefined;
}

/** Modes that change nothing on a device's engine. */
const UNSEEN = new Set(["slave", "rslave"]);
const PRIVATE = new Set(["private", "rprivate"]);
const WITHOUT_EFFECT = new Set(["cached", "delegated", "consistent"]);

/** Of several mounts at one path, the last one counts, as in compose. */
export const convertVolumes: Converter = (value, service, file) => {
  const items = value.items().map((item) => [targetOf(item), item] as const);
  const last = new Map(items);
  for (const [target, item] of items) {
    const counting = last.get(target) ?? item;
    if (counting !== item)
      item.note(`is left out: ${counting.path} mounts at ${target} too, and the last one counts, as in compose.`);
    else if (item.isMap) longMount(item, service, file);
    else shortMount(item, service, file);
  }
};

/** Where an entry mounts; its own path where it does not say so. */
function targetOf({ node, path }: Value): string {
  const target = mountTarget(node);
  return target === undefined || !target.startsWith("/") ? path : normalizePath(target);
}

function shortMount(value: Value, service: ServiceDraft, file: ComposeFile): void {
  const text = value.text();
  if (text === undefined) return;
  if (/^[a-zA-Z]:\\|^\\\\/.test(text)) {
    value.refuse(
      "names a path of Windows.",
      "Write the path on the device from / on, or ./ for files beside this one.",
    );
    return;
  }
  const [source = "", target, modes = "", ...rest] = text.split(":");
  if (target === undefined && source.startsWith("/")) {
    unnamedVolume(value, source, false, service, file);
    return;
  }
  if (target === undefined || source === "" || rest.length > 0) {
    value.refuse("must be NAME:TARGET, /PATH:TARGET or ./FILE:TARGET, with :ro for read-only.");
    return;
  }
  let isReadonly = false;
  let isEmpty = false;
  for (const mode of modes.split(",").filter(Boolean)) {
    if (mode === "ro") isReadonly = true;
    else if (mode === "nocopy") isEmpty = true;
    else if (UNSEEN.has(mode))
      value.note(`has the mode ${mode}: what is mounted on the device later is not seen in the app.`);
    else if (PRIVATE.has(mode)) continue;
    else if (WITHOUT_EFFECT.has(mode)) value.note(`has the mode ${mode}, which has no effect here.`);
    else if (mode === "z" || mode === "Z")
      value.note(`has the mode ${mode}: the agent relabels no files, which matters on a device with SELinux only.`);
    else if (mode !== "rw") value.refuse(`has the mode ${mode}, which is not supported.`);
  }
  mount(value, { source: fromHere(source, value, file), target, isReadonly, isEmpty }, service, file);
}

/** A path that begins with the directory of the shell is on this machine, as one that is relative. */
function fromHere(source: string, { inserted }: Value, { local }: ComposeFile): string {
  const here = inserted.get("PWD");
  if (!here || !`${source}/`.startsWith(`${here}/`)) return source;
  const path = local.fromHere(source);
  return path.startsWith("..") ? path : `./${path}`;
}

const LONG_KEYS = ["type", "source", "target", "read_only", "bind", "volume", "tmpfs", "consistency"];

function longMount(value: Value, service: ServiceDraft, file: ComposeFile): void {
  const fields = value.fields();
  refuseUnknown(fields, LONG_KEYS);
  fields.get("consistency")?.note("has no effect here.");
  const [type, written, target] = ["type", "source", "target"].map((key) => fields.get(key)?.text());
  const source = written && fromHere(written, fields.get("source") ?? value, file);
  if (target === undefined) {
    value.refuse("needs `target`.");
    return;
  }
  if (type === "tmpfs") {
    longTmpfs(value, target, service);
    return;
  }
  if (type !== "bind" && type !== "volume") {
    value.refuse("needs the `type` bind, volume or tmpfs.");
    return;
  }
  for (const [key, part] of fields.get("bind")?.fields() ?? []) checkBindOption(key, part);
  let isEmpty = false;
  let subpath: string | undefined;
  for (const [key, part] of fields.get("volume")?.fields() ?? []) {
    if (key === "nocopy") isEmpty = part.boolean() ?? false;
    else if (key === "subpath") subpath = readSubpath(part);
    else if (key === "labels") part.note("has no effect here.");
    else refuseUnknown(new Map([[key, part]]), ["nocopy", "subpath", "labels"]);
  }
  const isReadonly = fields.get("read_only")?.boolean() ?? false;
  if (source === undefined) {
    if (type === "volume") unnamedVolume(value, target, isReadonly, service, file);
    else value.refuse("needs `source`.");
    return;
  }
  // In the long syntax, a path without ./ is a path too.
  const path = type === "bind" && !/^[./~]/.test(source) ? `./${source}` : source;
  mount(value, { source: path, target, isReadonly, isEmpty, subpath }, service, file);
}

function checkBindOption(key: string, value: Value): void {
  if (key === "selinux") value.note("has no effect here: the agent relabels no files.");
  else if (key === "recursive") {
    if (value.text() !== "enabled") value.refuse("is not supported.", "Mount only the directory that the app needs.");
  } else if (key === "propagation") {
    const mode = value.text() ?? "";
    if (UNSEEN.has(mode)) value.note("has no effect here: what is mounted on the device later is not seen in the app.");
    else if (!PRIVATE.has(mode)) value.refuse("is not supported: nothing that an app mounts is seen on the device.");
  } else refuseUnknown(new Map([[key, value]]), ["create_host_path", "propagation", "recursive", "selinux"]);
}

/** A directory in a volume. `undefined` for the whole of it. */
function readSubpath(value: Value): string | undefined {
  const text = value.text();
  if (text === undefined) return undefined;
  const path = posix.normalize(text).replace(/\/$/, "");
  if (/^(?:\/|\.\.(?:\/|$))/.test(path)) {
    return value.refuse("leads out of the volume.", "Write the path in the volume, such as conf/site.");
  }
  if (path === "" || path === ".") return undefined;
  value.note(`has to be in the volume: as in compose, the directory ${path} is not made.`);
  return path;
}

function longTmpfs(value: Value, target: string, service: ServiceDraft): void {
  const fields = value.fields().get("tmpfs")?.fields() ?? new Map<string, Value>();
  refuseUnknown(fields, ["size", "mode"]);
  const [size, mode] = [fields.get("size"), fields.get("mode")];
  const bytes = size && sizeOf(size.text() ?? "");
  if (size && bytes === undefined) size.refuse("must be a size, such as 64m.");
  const permissions = mode && readTmpfsMode(mode);
  const entry = {
    target,
    ...(bytes !== undefined && { size_bytes: bytes }),
    ...(permissions !== undefined && { mode: permissions }),
  };
  service.append("tmpfs", entry, value.place);
}

function mount(value: Value, asked: Mount, service: ServiceDraft, file: ComposeFile): void {
  const { target, isReadonly } = asked;
  const source = withSlashes(asked.source);
  if (source.startsWith("~")) homeMount(value, asked, service, file);
  else if (source.startsWith("/")) {
    service.append("volumes", { local: source, target, readonly: isReadonly }, value.place);
  } else if (source.startsWith(".")) {
    localMount(value, { source, target, isReadonly }, service, file);
  } else if (file.volumes.has(source)) {
    volumeMount(value, { ...asked, source }, service, file);
  } else {
    const advice = `Add it there (${source}:), or write ./${source} for a file beside this one.`;
    value.refuse(`names the volume ${source}, which is not under the \`volumes\` of this file.`, advice);
  }
}

/** Compose keeps a volume without a name for the service's next container. Here, it needs a name for that. */
function unnamedVolume(
  value: Value,
  target: string,
  isReadonly: boolean,
  service: ServiceDraft,
  file: ComposeFile,
): void {
  const identity = JSON.stringify([service.name, normalizePath(target)]);
  const name = derivedName(file.project, `${service.name}${target}`, identity);
  service.append("volumes", { name, target, readonly: isReadonly }, value.place);
  value.note(`has no name: on the device it is the volume ${name}, which the service keeps, as in compose.`);
}

/** A volume of the file, or the path of the device that it is bound to, or a directory in memory. */
function volumeMount(value: Value, asked: Mount, service: ServiceDraft, file: ComposeFile): void {
  const { source, target, isReadonly, isEmpty, subpath } = asked;
  const volume = file.volumes.get(source);
  const bound = boundPath(volume);
  const inMemory = memoryOptions(volume);
  if (inMemory !== undefined) {
    if (isReadonly || subpath !== undefined)
      value.refuse("mounts a volume in memory, which is empty, only to read it.");
    // Of a volume's own options, those of the engine for a `tmpfs` are none.
    const options = /(?:^|,)(?:no)?exec(?:,|$)/.test(inMemory) ? inMemory : `exec,${inMemory}`;
    service.append("tmpfs", tmpfsEntry(target, options, value), value.place);
  } else if (bound === undefined) {
    const options = { ...(isEmpty && { nocopy: true }), ...(subpath !== undefined && { subpath }) };
    const entry = { ...volumeSource(source, volume, file), target, readonly: isReadonly, ...options };
    service.append("volumes", entry, value.place);
  } else if (subpath === undefined) {
    service.append("volumes", { local: bound, target, readonly: isReadonly }, value.place);
  } else {
    value.refuse(`mounts ${subpath} of a volume that is a path of the device, out of which a link in it may lead.`);
  }
}

/** A path beside the file, as it is written on Windows. */
function withSlashes(source: string): string {
  return /^\.{1,2}\\/.test(source) ? source.replaceAll("\\", "/") : source;
}

/** A directory of this machine's user is made by compose if it is missing. What is in one stays here. */
function homeMount(
  value: Value,
  { source, target, isReadonly }: Mount,
  service: ServiceDraft,
  file: ComposeFile,
): void {
  const home = file.lookup("HOME");
  const path = home !== undefined && source.startsWith("~/") ? posix.join(home, source.slice(2)) : undefined;
  const kind = path === undefined ? "other" : file.local.kindOf(path);
  const isEmpty = kind === "missing" || (kind === "directory" && isWithoutFiles(path ?? "", file));
  if (isEmpty && !isNameOfFile(source)) emptyVolume(value, { source, target, isReadonly }, service, file);
  else {
    value.refuse(
      "names what is in a home directory, which the device does not have.",
      "Write the path on the device from / on, or ./ for files beside this one.",
    );
  }
}

/** What compose would make as an empty directory. */
function emptyVolume(
  value: Value,
  { source, target, isReadonly }: Mount,
  service: ServiceDraft,
  file: ComposeFile,
): void {
  const name = directoryVolume(source, file);
  const alike = file.volumes.names.find((key) => {
    const source = volumeSource(key, file.volumes.look(key), file);
    return "name" in source && source.name === name;
  });
  if (alike !== undefined) {
    value.refuse(
      `mounts ${source}, which would be the volume ${name} here, as volumes.${alike} is.`,
      "Rename that one.",
    );
    return;
  }
  service.append("volumes", { name, target, readonly: isReadonly, nocopy: true }, value.place);
  value.note(`mounts ${source}, which is empty here: on the device it is the volume ${name}.`);
}

/** A relative path is on this machine: what is there comes with the app. */
function localMount(
  value: Value,
  { source, target, isReadonly }: Mount,
  service: ServiceDraft,
  file: ComposeFile,
): void {
  const kind = file.local.kindOf(source);
  if (kind === "missing" && isNameOfFile(source)) {
    value.refuse(
      `mounts ${source}, which is not here.`,
      "Put the file there. Where a directory is meant, make it: compose would make an empty directory.",
    );
    return;
  }
  if (kind === "missing" || (kind === "directory" && isWithoutFiles(source, file))) {
    emptyVolume(value, { source, target, isReadonly }, service, file);
    return;
  }
  if (kind === "other") {
    value.refuse(`mounts ${source}, which is neither a file nor a directory.`);
    return;
  }
  noteOutside(value, source, file.local);
  const before = service.lengthOf("files");
  if (kind === "file") addLocalFile(value, source, target, service, file.local);
  else addLocalDirectory(value, source, target, service, file.local);
  if (isReadonly || service.lengthOf("files") === before) return;
  const files = kind === "file" ? "The file comes" : "The files come";
  value.note(
    `mounts ${source}. ${files} with the app and can only be read there; for what it writes, use a named volume. :ro says the same.`,
  );
}

/** What keeps a directory in git. */
const PLACEHOLDERS = new Set([".gitkeep", ".gitignore", ".keep"]);

/** Compose makes a directory of whatever is missing. Of a name with an ending, that is never what is meant. */
function isNameOfFile(source: string): boolean {
  return /[^./]\.(?!d$)[a-zA-Z][a-zA-Z0-9]{0,7}$/.test(source);
}

function isWithoutFiles(source: string, { local }: ComposeFile): boolean {
  try {
    return local.list(source).every((name) => PLACEHOLDERS.has(posix.basename(name)));
  } catch {
    // It cannot be read, which is said where its files are listed.
    return false;
  }
}

/** The volume for a directory beside the file. */
function directoryVolume(source: string, { project }: ComposeFile): string {
  const path = posix.normalize(source).replace(/\/$/, "");
  return derivedName(project, path, path);
}

/** A volume's name that can be read. The hash keeps `a/b` and `a-b` apart, and both from the volumes of the file. */
function derivedName(project: string, meaning: string, identity: string): string {
  const digest = createHash("sha256").update(identity).digest("hex").slice(0, 8);
  const readable = meaning.replaceAll(/[^a-zA-Z0-9]+/g, "-").replaceAll(/^-|-$/g, "");
  return `${`${project}_${readable}`.slice(0, MAX_VOLUME_NAME - digest.length - 1)}-${digest}`;
}

const MAX_VOLUME_NAME = 63;
