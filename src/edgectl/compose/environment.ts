import { decodeText } from "../io.ts";
import { looksSecret } from "../../protocol/apps/secret-names.ts";
import type { Value } from "../documents/value.ts";
import { MAX_ENV_FILE_BYTES, parseEnvFile } from "./env-file.ts";
import type { Lookup } from "./interpolate.ts";
import { noteOutside } from "./local-content.ts";
import { refuseUnknown } from "./unknown.ts";
import type { ComposeFile, Converter, ServiceDraft } from "./service.ts";

const NOT_SET = "has no value here, in this shell or in .env: it is left out, as in compose.";

export const convertEnvironment: Converter = (value, service, file) => {
  if (value.isList) for (const item of value.items()) listedVariable(item, service, file);
  else for (const [key, item] of value.fields()) mappedVariable(key, item, service, file);
};

function listedVariable(item: Value, service: ServiceDraft, { lookup }: ComposeFile): void {
  const text = item.text();
  if (text === undefined) return;
  const at = text.indexOf("=");
  const key = at === -1 ? text : text.slice(0, at);
  const value = at === -1 ? lookup(key) : text.slice(at + 1);
  if (value === undefined) item.note(`(${key}) ${NOT_SET}`);
  else service.variables.set(key, { value, inserted: item.inserted, place: item.place });
}

function mappedVariable(key: string, item: Value, service: ServiceDraft, { lookup }: ComposeFile): void {
  const value = item.isNull ? lookup(key) : item.text();
  if (value !== undefined) service.variables.set(key, { value, inserted: item.inserted, place: item.place });
  else if (item.isNull) item.note(NOT_SET);
}

export const convertEnvFile: Converter = (value, service, file) => {
  for (const item of value.isList ? value.items() : [value]) {
    const { name, isRequired } = envFileOf(item);
    if (name === undefined) continue;
    const kind = file.local.kindOf(name);
    if (kind === "file") readVariables(item, name, service, file);
    else if (isRequired || kind !== "missing") item.refuse(`names ${name}, which is not a file here.`);
    else item.note(`names ${name}, which is not here and not required.`);
  }
};

function envFileOf(item: Value): { readonly name: string | undefined; readonly isRequired: boolean } {
  if (!item.isMap) return { name: item.text(), isRequired: true };
  const fields = item.fields();
  refuseUnknown(fields, ["path", "required", "format"]);
  fields.get("format")?.refuse("is not supported.", "Remove it, and put literal values into single quotes.");
  if (!fields.has("path")) item.refuse("needs `path`.");
  return { name: fields.get("path")?.text(), isRequired: fields.get("required")?.boolean() ?? true };
}

function readVariables(item: Value, name: string, service: ServiceDraft, file: ComposeFile): void {
  const text = readText(item, name, file);
  if (text === undefined) return;
  const problems = file.problemsOf(name);
  // The variables of earlier files are known in later ones.
  const lookup: Lookup = (other) => file.lookup(other) ?? service.fileVariables.get(other)?.value;
  for (const { key, value = file.lookup(key), inserted, place } of parseEnvFile(text, lookup, problems)) {
    if (value === undefined) problems.note(place, `${key} ${NOT_SET}`);
    else service.fileVariables.set(key, { value, inserted, place: item.place });
  }
}

function readText(item: Value, name: string, { local }: ComposeFile): string | undefined {
  try {
    noteOutside(item, name, local);
    if (local.sizeOf(name) > MAX_ENV_FILE_BYTES) return item.refuse(`names ${name}, which is larger than 256 KiB.`);
    return decodeText(local.read(name));
  } catch (error) {
    const { code = "unknown reason" } = error as NodeJS.ErrnoException;
    return item.refuse(`names ${name}, which cannot be read (${code}).`);
  }
}

/** `x-edge-secrets`: which variables of the service are secrets. */
export const convertSecretNames: Converter = (value, service) => {
  for (const item of value.items()) {
    const name = item.text();
    if (name !== undefined) service.secretVariables.set(name, item.place);
  }
};

/** Sets the field `environments` once all keys of the service are converted. */
export function finishEnvironment(service: ServiceDraft): void {
  const all = new Map([...service.fileVariables, ...service.variables]);
  for (const [key, { value, inserted, place }] of all) {
    const isSecret = service.secretVariables.has(key);
    const parts = isSecret ? secretParts(value, inserted) : [];
    if (isSecret) for (const text of [value, ...parts]) service.value.hide(text);
    const secret = { ...(isSecret && { secret: true }), ...(parts.length > 0 && { secret_parts: parts }) };
    service.append("environments", { key, value, ...secret }, place);
  }
  const missing = [...service.secretVariables.keys()].filter((name) => !all.has(name));
  if (missing.length > 0) service.value.refuse(`has no variable ${missing.join(", ")}, which x-edge-secrets names.`);
}

/** What was put into a secret and looks like one by its own name: an app may print it alone. */
function secretParts(value: string, inserted: ReadonlyMap<string, string>): string[] {
  const parts = [...inserted].filter(([key, part]) => looksSecret({ key, value: part }) && value.includes(part));
  return [...new Set(parts.map(([, part]) => part))].filter((part) => part !== value);
}
