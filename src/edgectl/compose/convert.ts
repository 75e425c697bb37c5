import { Value } from "../documents/value.ts";
import type { Lookup } from "./interpolate.ts";
import { refuseUnset } from "./interpolate-document.ts";
import { MAX_APPLY_APPS } from "../../protocol/apps/apply.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import type { DocumentNode } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import type { WrittenGroup, WrittenApp } from "../group/written-group.ts";
import { projectName } from "../group/project-name.ts";
import { Definitions } from "./definitions.ts";
import { finishEnvironment } from "./environment.ts";
import { checkContent } from "./files.ts";
import { FILE_KEYS, FILE_SECTIONS, type KeyRule, SERVICE_KEYS } from "./keys.ts";
import { finishSwap } from "./limits.ts";
import { finishDirectories } from "./local-content.ts";
import { finishPull, finishRestart } from "./misc.ts";
import { checkAddresses, checkNetwork, finishNames, finishNetworks, networkName } from "./networks.ts";
import { mergeProjectFiles } from "./project-files.ts";
import { type ComposeFile, FurtherNames, ServiceDraft } from "./service.ts";
import { refuseUnknownKey } from "./unknown.ts";
import { checkVolume, checkVolumeNames, shareVolumes } from "./volume-definitions.ts";

interface Selection {
  readonly services: ReadonlyMap<string, Value>;
  /** The profiles of the services that are left out. */
  readonly inactive: ReadonlyMap<string, readonly string[]>;
}

interface ProfileOptions {
  readonly lookup: Lookup;
  /** Given on the command line; `*` for all. */
  readonly profiles?: readonly string[];
}

/** Leaves out the services that are only in profiles that were not chosen, as compose does. */
function selectServices(services: ReadonlyMap<string, Value>, options: ProfileOptions): Selection {
  const chosen = new Set([...(options.profiles ?? []), ...(options.lookup("COMPOSE_PROFILES") ?? "").split(",")]);
  const inactive = new Map<string, readonly string[]>();
  for (const [name, service] of services) {
    const profiles = (service.isMap ? service.fields().get("profiles")?.textOrTexts() : undefined) ?? [];
    if (profiles.length === 0 || chosen.has("*") || profiles.some((profile) => chosen.has(profile))) continue;
    inactive.set(name, profiles);
    service.note(`is not applied: it is in the profile ${profiles.join(", ")}, which --profile chooses.`);
  }
  return { services: new Map([...services].filter(([name]) => !inactive.has(name))), inactive };
}

/** A profile to name in a message. */
function profileOf(inactive: ReadonlyMap<string, readonly string[]>): string {
  const [[profile = ""] = []] = inactive.values();
  return profile;
}

interface ComposeOptions {
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
  /** Whether several services may write to a named volume, which then is shared. */
  readonly sharedVolumes?: boolean;
  /** Where the operator pushes the images of services that have `build` and no `image`. */
  readonly buildRegistry?: string | undefined;
  /** Profiles whose services are applied, beside those of `COMPOSE_PROFILES`. */
  readonly profiles?: readonly string[];
}

/** Whether a document is a compose file. */
export function isCompose(root: DocumentNode): boolean {
  return root.kind === "map" && root.entries.some(({ key }) => key === "services" || key === "include");
}

/**
 * Converts compose files, each merged with the ones before it. What is wrong is added to `problems`; the result is complete
 * only without any.
 */
export function convertCompose(documents: readonly DocumentNode[], options: ComposeOptions): WrittenGroup {
  const { problems } = options;
  const root = new Value(mergeProjectFiles(documents, options), problems);
  const fields = root.fields();
  for (const [key, value] of fields) {
    if ((FILE_SECTIONS as readonly string[]).includes(key)) continue;
    applyRule(key, value, FILE_KEYS, [...FILE_SECTIONS, ...Object.keys(FILE_KEYS)]);
  }
  const section = (name: (typeof FILE_SECTIONS)[number]): ReadonlyMap<string, Value> =>
    fields.get(name)?.fields() ?? new Map();
  const { lookup, local, problemsOf } = options;
  const { services, inactive } = selectServices(section("services"), options);
  for (const { node } of services.values()) refuseUnset(node, problems);
  const named = lookup("COMPOSE_PROJECT_NAME") || fields.get("name")?.text();
  const file: ComposeFile = {
    project: projectName(named, root, options),
    services: new Set(services.keys()),
    inactive,
    networks: new Definitions(section("networks")),
    volumes: new Definitions(section("volumes")),
    configs: new Definitions(section("configs")),
    secrets: new Definitions(section("secrets")),
    lookup,
    local,
    buildRegistry: options.buildRegistry,
    problemsOf,
    containers: containerNames(services),
    names: new FurtherNames(),
    addresses: [],
  };
  if (services.size === 0 && inactive.size === 0) root.refuse("The file has no services.");
  else if (services.size === 0)
    root.refuse("All services are in profiles.", `Choose with --profile ${profileOf(inactive)}.`);
  const isTooMany = services.size > MAX_APPLY_APPS;
  if (isTooMany) root.refuse(`The file has ${services.size} services, more than ${MAX_APPLY_APPS}.`, "Split it.");
  const unrestarted: string[] = [];
  const convert = (name: string, value: Value): ServiceDraft => convertService(name, value, file, unrestarted);
  const drafts = isTooMany ? [] : [...services].map(([name, value]) => convert(name, value));
  if (drafts.length > 0) checkDefinitions(file, fields, problems);
  for (const draft of drafts) finishNames(draft, file);
  checkAddresses(drafts, file.addresses);
  if (options.sharedVolumes) shareVolumes(drafts);
  if (unrestarted.length > 0) fields.get("services")?.note(`(${unrestarted.join(", ")}) ${NOT_RESTARTED}`);
  return { project: file.project, apps: drafts.map(toApp), options: {} };
}

/** The services by their `container_name`; the first of several that have one name. */
function containerNames(services: ReadonlyMap<string, Value>): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const [name, service] of services) {
    const container = service.isMap ? service.fields().get("container_name") : undefined;
    const text = container && !container.isMap && !container.isList && !container.isNull ? container.text() : undefined;
    if (text && !names.has(text)) names.set(text, name);
  }
  return names;
}

/** Checks the networks, volumes, configs and secrets that services refer to. As in compose, nothing is made of the others. */
function checkDefinitions(file: ComposeFile, sections: ReadonlyMap<string, Value>, problems: Problems): void {
  for (const kind of ["networks", "volumes", "configs", "secrets"] as const) {
    const { used, unused } = file[kind];
    for (const [, { node }] of used) refuseUnset(node, problems);
    if (unused.length === 0) continue;
    const names = unused.join(", ");
    sections.get(kind)?.note(`(${names}) have no effect here: no service that is applied refers to them.`);
  }
  for (const [name, network] of file.networks.used) checkNetwork(network, networkName(name, file));
  for (const [name, volume] of file.volumes.used) checkVolume(volume, file.volumes.usesOf(name));
  checkVolumeNames(file);
  for (const [, content] of [...file.configs.used, ...file.secrets.used]) checkContent(content);
}

const NOT_RESTARTED =
  "have no `restart`: as in compose, they are not started again once they have ended, nor after a reboot. Write `restart: unless-stopped` for what is to run always.";

/** @param unrestarted gets the service's name if it is not to be restarted because it says nothing of it */
function convertService(name: string, value: Value, file: ComposeFile, unrestarted: string[]): ServiceDraft {
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
  finishPull(service);
  finishSwap(service);
  finishDirectories(service);
  if (finishRestart(service)) unrestarted.push(name);
  if (service.has("host_network") && service.ports.length > 0) {
    fields.get("ports")?.note("has no effect with `network_mode: host`: the app's own ports are the device's.");
    service.ports.length = 0;
  }
  return service;
}

function toApp(service: ServiceDraft): WrittenApp {
  const { name, value } = service;
  return {
    name,
    isService: true,
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
