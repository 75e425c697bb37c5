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
}

/** Modes that change nothing on a device's engine. */
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
  for (const mode of modes.split(",").filter(Boolean)) {
    if (mode === "ro") isReadonly = true;
    else if (WITHOUT_EFFECT.has(mode)) value.note(`has the mode ${mode}, which has no effect here.`);
    else if (mode === "z" || mode === "Z")
      value.note(`has the mode ${mode}: the agent relabels no files, which matters on a device with SELinux only.`);
    else if (mode !== "rw") value.refuse(`has the mode ${mode}, which is not supported.`, "Use ro, or remove it.");
  }
  mount(value, { source, target, isReadonly }, service, file);
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
    if (key !== "create_host_path") part.refuse("is not supported.", "Remove it.");
  }
  for (const [, part] of fields.get("volume")?.fields() ?? []) part.refuse("is not supported.", "Remove it.");
  if (source === undefined) {
    value.refuse("needs `source`: without a name its data would be lost with each update.");
    return;
  }
  const isReadonly = fields.get("read_only")?.boolean() ?? false;
  // In the long syntax, a path without ./ is a path too.
  const path = type === "bind" && !/^[./~]/.test(source) ? `./${source}` : source;
  mount(value, { source: path, target, isReadonly }, service, file);
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

function mount(value: Value, { source, target, isReadonly }: Mount, service: ServiceDraft, file: ComposeFile): void {
  if (source.startsWith("~")) {
    value.refuse("names a home directory, which the device does not have.", "Write the path on the device from / on.");
  } else if (source.startsWith("/")) {
    service.append("volumes", { local: source, target, readonly: isReadonly }, value.place);
  } else if (source.startsWith(".")) {
    localMount(value, { source, target, isReadonly }, service, file);
  } else if (file.volumes.has(source)) {
    const name = volumeName(source, file);
    service.append("volumes", { name, target, readonly: isReadonly }, value.place);
  } else {
    const advice = `Add it there (${source}:), or write ./${source} for a file beside this one.`;
    value.refuse(`names the volume ${source}, which is not under the \`volumes\` of this file.`, advice);
  }
}

/** A relative path is on this machine: what is there comes with the app. */
function localMount(
  value: Value,
  { source, target, isReadonly }: Mount,
  service: ServiceDraft,
  file: ComposeFile,
): void {
  const kind = file.local.kindOf(source);
  if (kind === "missing") {
    value.refuse(
      `mounts ${source}, which is not here.`,
      `For a directory that the app writes to, use a named volume (data:${target}) or a path of the device (/var/lib/${service.name}:${target}).`,
    );
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

/** Volumes belong to the project unless they have a name of their own, as in compose. */
function volumeName(name: string, { project, volumes }: ComposeFile): string {
  return volumes.get(name)?.fields().get("name")?.text() ?? `${project}_${name}`;
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
    } else if (key === "driver_opts") {
      value.refuse(
        "is not supported.",
        "Mount it on the device, and name the path there in the service: /mnt/data:/data",
      );
    } else if (key === "external") {
      if (value.boolean())
        value.refuse(
          "is not supported.",
          "A volume that is on the device under this name stays unused, and an app would begin with an empty one. Mount its data by the path on the device (/var/lib/docker/volumes/NAME/_data), or copy them into a volume of this file.",
        );
    } else refuseUnknown(new Map([[key, value]]), ["name", "driver"]);
  }
}
