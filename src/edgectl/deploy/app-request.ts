import type { AppFile } from "../../protocol/apps/app-files.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import type { AppSpec, PortMapping, Volume } from "../../protocol/apps/app-spec.ts";
import { looksLikeYaml } from "../../lib/looks-like-yaml.ts";
import { loadDocument } from "../documents/load.ts";
import { toJson } from "../documents/node.ts";
import { Problems } from "../documents/problems.ts";
import { usageFailure } from "../failure.ts";
import { type ContainerEntries, mergeContainerEntries } from "./container-flags.ts";
import type { DeviceMapping, EnvironmentEntry } from "./parse-options.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** The app as given by options. */
export interface AppFlags {
  /** Fields with one value, as in a request. Options that were not given are `undefined`. */
  readonly scalars: Readonly<Partial<Record<keyof AppSpec, unknown>>>;
  readonly ports: readonly PortMapping[];
  readonly environments: readonly EnvironmentEntry[];
  readonly volumes: readonly Volume[];
  readonly devices: readonly DeviceMapping[];
  readonly containerEntries?: ContainerEntries;
  readonly files: readonly AppFile[];
}

export type AppRequest = Readonly<Record<string, unknown>>;

/** The fields of an app that are lists. */
export const LIST_FIELDS = ["environments", "ports", "volumes", "devices", "files"] as const;
export type AppListField = (typeof LIST_FIELDS)[number];

/**
 * Merges the app file and the options. Single values of the options take precedence. An entry of a list replaces the
 * file's entry with the same key (variable name, container port or container path) or is appended. The result is not
 * validated: the service may know more fields than this version.
 */
export function buildAppRequest(file: AppRequest | undefined, flags: AppFlags): AppRequest {
  const given = Object.entries(flags.scalars).filter(([, value]) => value !== undefined);
  const request: Record<string, unknown> = { ...file, ...Object.fromEntries(given) };
  mergeEnvironments(request, flags.environments);
  mergeList(request, "ports", flags.ports, (port) => `${port.target_port}/${port.protocol ?? "tcp"}`);
  mergeList(request, "volumes", flags.volumes, ({ target }) => String(target));
  mergeList(request, "devices", flags.devices, ({ local, target }) => String(target ?? local));
  mergeContainerEntries(request, flags.containerEntries);
  mergeList(request, "files", flags.files, ({ target }) => normalizePath(String(target)));
  return request;
}

/** Returns the names of secrets that have no value in the request: they keep the one on the device. */
export function secretsWithoutValue({ environments }: AppRequest): string[] {
  return entriesOf(environments).flatMap(({ key, value, secret }) => {
    return secret === true && value === undefined ? [String(key)] : [];
  });
}

/** Removes the values of secrets from a list that the device returned: it masks them, and keeps what has no value. */
export function withoutSecretValues(environments: unknown): unknown {
  if (!Array.isArray(environments)) return environments;
  return environments.map((entry: Partial<EnvironmentEntry>) => {
    return entry.secret === true ? { key: entry.key, secret: true } : entry;
  });
}

/** A variable that is a secret in the file or on the device stays one, and keeps its value if the options give none. */
function mergeEnvironments(request: Record<string, unknown>, entries: readonly EnvironmentEntry[]): void {
  const existing = new Map(entriesOf(request["environments"]).map((entry) => [entry.key, entry]));
  const merged = entries.map((entry) => {
    const { value, secret } = existing.get(entry.key) ?? {};
    return {
      ...(value !== undefined && { value }),
      ...(secret !== undefined && { secret }),
      ...entry,
    };
  });
  mergeList(request, "environments", merged, ({ key }) => String(key));
}

function entriesOf(list: unknown): Partial<EnvironmentEntry>[] {
  if (!Array.isArray(list)) return [];
  return list.filter((entry): entry is Partial<EnvironmentEntry> => typeof entry === "object" && entry !== null);
}

/** Parses an app file. Errors: exit code 2 if it is not one object in JSON or YAML; no message repeats its content. */
export function parseAppFile(text: string, fileName: string): AppRequest {
  const value = parseText(text, fileName);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw usageFailure(`${fileName} does not hold one app.`, HINT);
  }
  if ("services" in value) throw usageFailure(`${fileName} is a compose file.`, GROUP_HINT);
  if ("apps" in value) throw usageFailure(`${fileName} holds several apps.`, GROUP_HINT);
  return value as AppRequest;
}

function parseText(text: string, fileName: string): unknown {
  if (text.trim() === "") throw usageFailure(`${fileName} is empty.`, HINT);
  try {
    return parseBoundedJson(text.replace(/^\uFEFF/, ""), "file");
  } catch (error) {
    if (error instanceof JsonLimitError) throw usageFailure(`${fileName} ${error.message}.`);
    if (looksLikeYaml(text, fileName)) return parseYaml(text, fileName);
    throw usageFailure(`${fileName} is not valid JSON${positionOf(error, text)}.`, HINT);
  }
}

function parseYaml(text: string, fileName: string): unknown {
  const problems = new Problems(fileName);
  const document = loadDocument(text, problems);
  problems.throwIfAny();
  return document && toJson(document);
}

const GROUP_HINT = "Apply it as a whole: edgectl apply ASSET -f FILE";

const HINT = 'The file is the request as the API takes it, such as {"name": "web", "image": "nginx:1.29"}.';

function mergeList<T extends object>(
  request: Record<string, unknown>,
  field: AppListField,
  entries: readonly T[],
  identify: (entry: Partial<T>) => string,
): void {
  if (entries.length === 0) return;
  const existing = request[field] ?? [];
  // A value that is not a list is sent unchanged: the service refuses it.
  if (!Array.isArray(existing)) return;
  const replaced = new Set(entries.map(identify));
  const kept = existing.filter((entry: Partial<T> | null) => entry === null || !replaced.has(identify(entry)));
  request[field] = [...kept, ...entries];
}

// Only the position is taken from V8's message: it quotes the text, which may contain secrets.
function positionOf(error: unknown, text: string): string {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1];
  if (position === undefined) return "";
  return ` (line ${text.slice(0, Number(position)).split("\n").length})`;
}
