import { MAX_APPLY_APPS } from "../../protocol/apply.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import type { DocumentNode, MapEntry } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import { Value } from "../documents/value.ts";
import type { Draft, DraftApp } from "../group/draft.ts";
import { projectName } from "../group/project-name.ts";
import { finishEnvironment } from "./environment.ts";
import { checkContent } from "./files.ts";
import { interpolate, type Lookup, recordingLookup, TemplateError } from "./interpolate.ts";
import { FILE_KEYS, FILE_SECTIONS, type KeyRule, SERVICE_KEYS } from "./keys.ts";
import { checkNetwork, finishNetworks, usesDefaultNetwork } from "./networks.ts";
import { type ComposeFile, ServiceDraft } from "./service.ts";
import { refuseUnknownKey } from "./unknown.ts";
import { checkVolume } from "./volumes.ts";

export interface ComposeOptions {
  /** Of the project; by default the file's `name`, or that of its directory. */
  readonly project: string | undefined;
  /** Path of the file; `undefined` for standard input. */
  readonly path: string | undefined;
  /** The variables of the shell and of `.env`. */
  readonly lookup: Lookup;
  readonly local: LocalFiles;
  readonly problems: Problems;
  /** For a file that the document names. */
  readonly problemsOf: (fileName: string) => Problems;
}

/** Characters of all texts with variables, expanded. */
const MAX_EXPANDED_LENGTH = 4 * 1024 * 1024;

/** Whether a document is a compose file. */
export function isCompose(root: DocumentNode): boolean {
  return root.kind === "map" && root.entries.some(({ key }) => key === "services");
}

/** Converts a compose file. What is wrong is added to `problems`; the result is complete only without any. */
export function convertCompose(document: DocumentNode, options: ComposeOptions): Draft {
  const { problems } = options;
  const root = new Value(interpolateAll(document, options), problems);
  const fields = root.fields();
  for (const [key, value] of fields) {
    if ((FILE_SECTIONS as readonly string[]).includes(key)) continue;
    applyRule(key, value, FILE_KEYS, [...FILE_SECTIONS, ...Object.keys(FILE_KEYS)]);
  }
  const section = (name: (typeof FILE_SECTIONS)[number]): ReadonlyMap<string, Value> =>
    fields.get(name)?.fields() ?? new Map();
  const services = section("services");
  const { lookup, local, problemsOf } = options;
  const file: ComposeFile = {
    project: projectName(fields.get("name")?.text(), root, options),
    services: new Set(services.keys()),
    networks: section("networks"),
    volumes: section("volumes"),
    configs: section("configs"),
    secrets: section("secrets"),
    usesDefaultNetwork: usesDefaultNetwork(services, section("networks")),
    lookup,
    local,
    problemsOf,
  };
  for (const network of file.networks.values()) checkNetwork(network);
  for (const volume of file.volumes.values()) checkVolume(volume);
  for (const content of [...file.configs.values(), ...file.secrets.values()]) checkContent(content);
  if (services.size === 0) root.refuse("The file has no services.");
  const isTooMany = services.size > MAX_APPLY_APPS;
  if (isTooMany) root.refuse(`The file has ${services.size} services, more than ${MAX_APPLY_APPS}.`, "Split it.");
  return {
    project: file.project,
    apps: isTooMany ? [] : [...services].map(([name, value]) => convertService(name, value, file)),
    options: {},
  };
}

function convertService(name: string, value: Value, file: ComposeFile): DraftApp {
  const service = new ServiceDraft(name, value);
  const fields = value.fields();
  for (const [key, part] of fields) {
    const rule = Object.hasOwn(SERVICE_KEYS, key) ? SERVICE_KEYS[key] : undefined;
    if (rule && "convert" in rule) rule.convert(part, service, file);
    else applyRule(key, part, SERVICE_KEYS, Object.keys(SERVICE_KEYS));
  }
  if (!fields.has("image") && !fields.has("build")) value.refuse("needs `image`.");
  finishEnvironment(service);
  finishNetworks(service, file);
  if (service.has("host_network") && service.ports.length > 0) {
    fields.get("ports")?.note("has no effect with `network_mode: host`: the app's own ports are the device's.");
    service.ports.length = 0;
  }
  return {
    name,
    path: value.path,
    place: value.place,
    fields: service.fields,
    ports: service.ports,
    dependsOn: service.dependsOn,
    placeOf: (path) => service.placeOf(path),
  };
}

/** Applies a rule that converts nothing. */
function applyRule(
  key: string,
  value: Value,
  rules: Readonly<Record<string, KeyRule>>,
  known: readonly string[],
): void {
  const rule = Object.hasOwn(rules, key) ? rules[key] : undefined;
  if (!rule) refuseUnknownKey(key, value, known);
  else if ("note" in rule) value.note(rule.note);
  else if ("refusal" in rule) value.refuse(rule.refusal, rule.advice);
}

/** Expands the variables of all texts, keys excepted. The file's own extensions are left as they are. */
function interpolateAll(root: DocumentNode, { lookup, problems }: ComposeOptions): DocumentNode {
  let length = 0;
  const expand = (node: DocumentNode, path: string): DocumentNode => {
    if (node.kind === "map") return { ...node, entries: node.entries.map((entry) => expandEntry(entry, path)) };
    if (node.kind === "list") {
      return { ...node, items: node.items.map((item, index) => expand(item, `${path}[${index}]`)) };
    }
    if (typeof node.value !== "string" || !node.value.includes("$")) return node;
    try {
      const inserted = new Map<string, string>();
      const value = interpolate(node.value, recordingLookup(lookup, inserted));
      length += value.length;
      if (length > MAX_EXPANDED_LENGTH) {
        throw new TemplateError("makes the file longer than 4 MiB with the values of its variables.");
      }
      return { ...node, value, source: value, inserted };
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      problems.add(node.place, `${path} ${error.message}`);
      return node;
    }
  };
  const expandEntry = (entry: MapEntry, path: string): MapEntry => {
    if (path === "" && entry.key.startsWith("x-")) return entry;
    return { ...entry, value: expand(entry.value, path === "" ? entry.key : `${path}.${entry.key}`) };
  };
  return expand(root, "");
}
