import { posix } from "node:path";
import type { Value } from "../documents/value.ts";
import { addFile, addLocalFile, noteOutside } from "./local-content.ts";
import type { FileSettings } from "./pack-local.ts";
import { readTmpfsMode } from "./tmpfs.ts";
import { refuseUnknown } from "./unknown.ts";
import type { ComposeFile, Converter, ServiceDraft } from "./service.ts";

/** Where a configuration or a secret is in the app by default. */
const PLACES = { configs: "/", secrets: "/run/secrets" } as const;

type Kind = keyof typeof PLACES;

export const convertConfigs: Converter = (value, service, file) => convertAll("configs", value, service, file);
export const convertSecrets: Converter = (value, service, file) => convertAll("secrets", value, service, file);

function convertAll(kind: Kind, value: Value, service: ServiceDraft, file: ComposeFile): void {
  for (const item of value.items()) {
    const fields = item.isMap ? item.fields() : new Map<string, Value>();
    refuseUnknown(fields, ["source", "target", "uid", "gid", "mode"]);
    const source = item.isMap ? fields.get("source")?.text() : item.text();
    if (source === undefined) {
      if (item.isMap) item.refuse("needs `source`.");
      continue;
    }
    const definition = file[kind].get(source);
    if (!definition) {
      item.refuse(`names ${source}, which is not under the \`${kind}\` of this file.`);
      continue;
    }
    const target = posix.resolve(PLACES[kind], fields.get("target")?.text() ?? source);
    const { mode, ...settings } = settingsOf(fields);
    // As the specification says; a secret of an app would be for its user alone.
    add(item, definition, target, service, file, { mode: mode ?? "0444", ...settings, secret: kind === "secrets" });
  }
}

function settingsOf(fields: ReadonlyMap<string, Value>): FileSettings {
  const [uid, gid] = [fields.get("uid")?.wholeNumber(), fields.get("gid")?.wholeNumber()];
  const mode = fields.get("mode");
  if (uid === undefined && gid !== undefined) fields.get("gid")?.refuse("needs `uid` too.");
  const owner = uid === undefined ? undefined : gid === undefined ? String(uid) : `${uid}:${gid}`;
  return { owner, mode: mode && readTmpfsMode(mode) };
}

function add(
  item: Value,
  definition: Value,
  target: string,
  service: ServiceDraft,
  { local, lookup }: ComposeFile,
  settings: FileSettings,
): void {
  const fields = definition.fields();
  const [file, variable, content] = ["file", "environment", "content"].map((key) => fields.get(key)?.text());
  if (file !== undefined) {
    noteOutside(definition, file, local);
    if (local.kindOf(file) === "file") addLocalFile(item, file, target, service, local, settings);
    else definition.refuse(`names ${file}, which is not a file here.`);
  } else if (variable !== undefined) {
    const value = lookup(variable);
    if (value === undefined) definition.refuse(`takes the variable ${variable}, which is not set.`);
    else addFile(item, target, Buffer.from(value), service, settings);
  } else if (content !== undefined) addFile(item, target, Buffer.from(content), service, settings);
}

/** Checks the definition of a configuration or a secret. */
export function checkContent(definition: Value): void {
  const fields = definition.fields();
  refuseUnknown(fields, [
    "file",
    "environment",
    "content",
    "external",
    "name",
    "labels",
    "driver",
    "driver_opts",
    "template_driver",
  ]);
  for (const key of ["driver", "driver_opts"]) fields.get(key)?.refuse("is not supported.", "Use `file`.");
  fields.get("template_driver")?.refuse("is not supported.", "Write what comes of the template.");
  for (const key of ["name", "labels"]) fields.get(key)?.note("has no effect here.");
  if (fields.get("external")?.boolean()) {
    fields
      .get("external")
      ?.refuse("is not supported: nothing is kept outside of the file.", "Use `file` or `environment`.");
  } else if (["file", "environment", "content"].filter((key) => fields.has(key)).length !== 1) {
    definition.refuse("needs one of `file`, `environment` and `content`.");
  }
}
