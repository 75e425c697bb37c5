import { createHash } from "node:crypto";
import { posix } from "node:path";
import type { Value } from "../documents/value.ts";
import { addLocalDirectory, addLocalFile, noteOutside } from "./local-content.ts";
import { sizeOf } from "./quantities.ts";
import { readTmpfsMode } from "./tmpfs.ts";
import { refuseUnknown } from "./unknown.ts";
import type { ComposeFile, Converter, ServiceDraft } from "./service.ts";

/** A mount in either syntax. */
interface Mount {
  readonly source: string;
  readonly target: string;
  readonly isReadonly: boolean;
  /** Whether a volume begins empty. */
  readonly isEmpty?: boolean;
}

/** Modes that change nothing on a device's engine. */
const UNSEEN = new Set(["slave", "rslave"]);
const PRIVATE = new Set(["private", "rprivate"]);
const WITHOUT_EFFECT = new Set(["cached", "delegated", "consistent"]);

export const convertVolumes: Converter = (value, service, file) => {
  for (const item of value.items()) {
    if (item.isMap) longMount(item, service, file);
    else shortMount(item, service, file);
  }
};

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
  if (target === undefined) {
    value.refuse("has no name, so that its data would be lost with each update.", `Name it: data:${source}`);
    return;
  }
  if (source === "" || rest.length > 0) {
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
    else if (mode !== "rw") value.refuse(`has the mode ${mode}, which is not supported.`, "Use ro, or remove it.");
  }
  mount(value, { source, target, isReadonly, isEmpty }, service, file);
}

const LONG_KEYS = ["type", "source", "target", "read_only", "bind", "volume", "tmpfs", "consistency"];

function longMount(value: Value, service: ServiceDraft, file: ComposeFile): void {
  const fields = value.fields();
  refuseUnknown(fields, LONG_KEYS);
  fields.get("consistency")?.note("has no effect here.");
  const [type, source, target] = ["type", "source", "target"].map((key) => fields.get(key)?.text());
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
  for (const [key, part] of fields.get("bind")?.fields() ?? []) {
    if (key === "selinux") part.note("has no effect here: the agent relabels no files.");
    else if (key === "propagation" && UNSEEN.has(part.text() ?? "")) {
      part.note("has no effect here: what is mounted on the device later is not seen in the app.");
    } else if (key !== "create_host_path" && !(key === "propagation" && PRIVATE.has(part.text() ?? ""))) {
      part.refuse("is not supported.", "Remove what the app does not need.");
    }
  }
  let isEmpty = false;
  for (const [key, part] of fields.get("volume")?.fields() ?? []) {
    if (key === "nocopy") isEmpty = part.boolean() ?? false;
    else if (key === "subpath")
      part.refuse("is not supported: an app has the whole of a volume.", "Give the directory a volume of its own.");
    else part.refuse("is not supported.", "Remove what the app does not need.");
  }
  if (source === undefined) {
    value.refuse("needs `source`: without a name its data would be lost with each update.");
    return;
  }
  const isReadonly = fields.get("read_only")?.boolean() ?? false;
  // In the long syntax, a path without ./ is a path too.
  const path = type === "bind" && !/^[./~]/.test(source) ? `./${source}` : source;
  mount(value, { source: path, target, isReadonly, isEmpty }, service, file);
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
    const bound = boundPath(file.volumes.get(source));
    const from = bound === undefined ? volumeSource(source, file) : { local: bound };
    const isEmpty = asked.isEmpty === true && bound === undefined;
    service.append("volumes", { ...from, target, readonly: isReadonly, ...(isEmpty && { nocopy: true }) }, value.place);
  } else {
    const advice = `Add it there (${source}:), or write ./${source} for a file beside this one.`;
    value.refuse(`names the volume ${source}, which is not under the \`volumes\` of this file.`, advice);
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

/** The volume for a directory beside the file. The hash keeps `a/b` and `a-b` apart, and from the volumes of the file. */
function directoryVolume(source: string, { project }: ComposeFile): string {
  const path = posix.normalize(source).replace(/\/$/, "");
  const digest = createHash("sha256").update(path).digest("hex").slice(0, 8);
  const readable = path.replaceAll(/[^a-zA-Z0-9]+/g, "-").replaceAll(/^-|-$/g, "");
  return `${`${project}_${readable}`.slice(0, MAX_VOLUME_NAME - digest.length - 1)}-${digest}`;
}

const MAX_VOLUME_NAME = 63;

/** The path of the device that a volume is bound to by the options of its driver; `undefined` if it is not. */
function boundPath(volume: Value | undefined): string | undefined {
  const options = volume?.fields().get("driver_opts")?.fields();
  const [type, o, device] = ["type", "o", "device"].map((key) => options?.get(key)?.text());
  const isBind = (type === "none" || type === "bind" || type === undefined) && /\bbind\b/.test(o ?? "");
  return isBind && device?.startsWith("/") ? device : undefined;
}

/** The named volumes that a service writes to, as they are in its fields. */
function written({ fields }: ServiceDraft): { readonly name: string }[] {
  const volumes = (fields["volumes"] ?? []) as { readonly name?: string; readonly readonly: boolean }[];
  return volumes.filter(
    (volume): volume is { readonly name: string; readonly readonly: boolean } =>
      volume.name !== undefined && !volume.readonly,
  );
}

/** Has those volumes shared that several services write to. */
export function shareVolumes(services: readonly ServiceDraft[]): void {
  const writers = new Map<string, Set<string>>();
  for (const service of services) {
    for (const { name } of written(service)) {
      writers.set(name, (writers.get(name) ?? new Set()).add(service.name));
    }
  }
  for (const service of services) {
    for (const volume of written(service)) {
      if ((writers.get(volume.name)?.size ?? 0) > 1) Object.assign(volume, { shared: true });
    }
  }
}

/** Volumes belong to the project unless they have a name of their own, as in compose; external ones are not made. */
function volumeSource(name: string, { project, volumes }: ComposeFile): { name: string } | { external: string } {
  const fields = volumes.get(name)?.fields();
  const external = fields?.get("external");
  const own = fields?.get("name")?.text();
  // As it was written first: `external: {name: NAME}`.
  if (external?.isMap) return { external: external.fields().get("name")?.text() ?? own ?? name };
  return external?.boolean() ? { external: own ?? name } : { name: own ?? `${project}_${name}` };
}

/** Checks a volume's own definition: the device makes all volumes alike. */
export function checkVolume(volume: Value): void {
  for (const [key, value] of volume.fields()) {
    if (key === "name") continue;
    if (key === "labels") value.note("has no effect here.");
    else if (key === "driver") {
      if (value.text() !== "local")
        value.refuse(
          "must be local.",
          "Mount what the driver would bring under a path of the device, and name that path in the service.",
        );
    } else if (key === "driver_opts" && boundPath(volume) === undefined) {
      value.refuse(
        "is not supported.",
        "Mount it on the device, and name the path there in the service: /mnt/data:/data",
      );
    } else if (key === "external") {
      if (value.isMap) refuseUnknown(value.fields(), ["name"]);
      if (value.isMap || value.boolean())
        value.note(
          "is the engine's volume of this name, which has to be on the device, and which the device must allow (`policy.external_volumes.allow`).",
        );
    } else if (key !== "driver_opts") refuseUnknown(new Map([[key, value]]), ["name", "driver"]);
  }
}
