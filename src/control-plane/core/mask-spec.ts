import { CONTENT_FIELDS, contentBytes } from "../../protocol/apps/app-files.ts";
import { containsSecret, MASKED_VALUE, secretTexts, withSecretTextsMasked } from "../../protocol/apps/secret-texts.ts";
import type { Command } from "./command.ts";

/** Returns the command with each of its specifications masked. */
export function maskCommand(command: Command): Command {
  switch (command.action) {
    case "apply": {
      const apps = command.spec.apps.map((entry) => ({ ...entry, app: maskSpec(entry.app) }));
      return { ...command, spec: { ...command.spec, apps } };
    }
    case "deploy":
      return { ...command, spec: maskSpec(command.spec) };
    case "update":
      return { ...command, spec: maskSpec(command.spec) };
    case "update_agent":
    case "remove":
    case "stop":
    case "start":
    case "restart":
      return command;
  }
}

/**
 * Returns the specification of an app with the values of `environments` masked, since they may be secrets, and no contents of
 * files. Declared secrets are masked in commands and labels too.
 */
export function maskSpec<T extends object>(spec: T): T {
  return maskValues(withoutContents(spec), () => true);
}

/** Returns the specification with declared secrets masked, whatever the device did. */
export function maskDeclaredSecrets<T extends object>(spec: T): T {
  return maskValues(withoutContents(spec), (entry) => "secret" in entry && entry.secret === true);
}

/** Returns the specification with the sizes of files in place of their contents. */
function withoutContents<T extends object>(spec: T): T {
  if (!("files" in spec) || !Array.isArray(spec.files)) return spec;
  return { ...spec, files: spec.files.map(withoutContent) };
}

function withoutContent(file: unknown): unknown {
  if (typeof file !== "object" || file === null) return file;
  const fields = Object.entries(file);
  const rest = Object.fromEntries(fields.filter((entry) => !isContent(entry)));
  const contents = fields.filter((entry) => isContent(entry) && typeof entry[1] === "string");
  const { upload } = rest as { readonly upload?: { readonly size?: unknown } };
  const size = typeof upload?.size === "number" ? upload.size : contentBytes(Object.fromEntries(contents));
  return size === undefined ? rest : { ...rest, size };
}

function isContent([field]: [string, unknown]): boolean {
  return (CONTENT_FIELDS as readonly string[]).includes(field);
}

interface Variable {
  readonly value?: string;
  readonly secret?: boolean;
  readonly secret_parts?: readonly string[];
}

function maskValues<T extends object>(spec: T, isMasked: (variable: object) => boolean): T {
  if (!("environments" in spec) || !Array.isArray(spec.environments)) return spec;
  const secrets = secretTexts(spec.environments.map(toVariable));
  const environments = spec.environments.map((entry: unknown) => {
    if (typeof entry !== "object" || entry === null || !("value" in entry)) return entry;
    const { secret_parts: _parts, ...rest } = entry as Variable;
    const variable = containsSecret(rest.value, secrets) ? { ...rest, secret: true } : rest;
    return isMasked(variable) ? { ...variable, value: MASKED_VALUE } : variable;
  });
  return withSecretTextsMasked({ ...spec, environments }, secrets);
}

/** A device sends what it likes. */
function toVariable(entry: unknown): Variable {
  if (typeof entry !== "object" || entry === null) return {};
  const { value, secret, secret_parts: parts } = entry as Readonly<Record<string, unknown>>;
  return {
    ...(typeof value === "string" && { value }),
    secret: secret === true,
    ...(Array.isArray(parts) && { secret_parts: parts.filter((part) => typeof part === "string") }),
  };
}
