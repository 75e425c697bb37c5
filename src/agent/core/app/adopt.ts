import { type AppSpec, type ParsedAppSpec, parseAppSpec } from "../../../protocol/apps/app-spec.ts";
import { storedFiles } from "../../../protocol/apps/app-files.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { oldVersionName, newVersionName, LABELS } from "./container.ts";
import { type MountedPath, volumesOfContainer } from "./volume-extras.ts";
import { type AppRecord, newApp } from "../records.ts";
import { parseBoundedJson } from "../../../protocol/values/bounded-json.ts";

/** A container that carries the agent's labels and is unknown to the store. */
export interface Orphan {
  readonly id: string;
  readonly name: string;
  readonly app: string;
  readonly deploymentId: string;
  /** Whether it was ever started. */
  readonly wasStarted: boolean;
}

/** What to do with orphans. */
export interface Adoption {
  readonly adopted: readonly Orphan[];
  /** New versions of unfinished updates; their old versions are adopted. */
  readonly removed: readonly Orphan[];
}

/**
 * Decides which orphans are apps. One that was never started belongs to an unfinished deployment and is left alone: the
 * control plane cancels that deployment. Two orphans of one app come from an unfinished update: while the old version
 * exists, the new one was not verified.
 */
export function sortOrphans(found: readonly Orphan[]): Adoption {
  const removed = found.filter((container) =>
    found.some((other) => other !== container && other.app === container.app && isUpdate(container, other)),
  );
  const rest = found.filter((container) => !removed.includes(container));
  return { adopted: rest.filter(({ wasStarted }) => wasStarted), removed };
}

/** Whether the names show that `fresh` is the new version and `old` the old one of an unfinished update. */
function isUpdate(fresh: Orphan, old: Orphan): boolean {
  const isBeside = fresh.name === newVersionName(fresh.app) && old.name !== newVersionName(old.app);
  return isBeside || (old.name === oldVersionName(old.app) && fresh.name !== oldVersionName(fresh.app));
}

/** What an orphan was created from, and its labels. */
export interface OrphanConfig {
  readonly app: string;
  readonly deploymentId: string;
  readonly containerId: string;
  /** Image the container was created from, as the engine names it: a reference or an id. */
  readonly image: string;
  readonly imageId: string;
  readonly environment: readonly string[];
  readonly ports: readonly {
    readonly hostPort: number;
    readonly targetPort: number;
    readonly protocol?: "tcp" | "udp";
    readonly hostAddress?: string;
  }[];
  /** Paths of the device that it mounts. */
  readonly volumes: readonly MountedPath[];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
  readonly labels: Labels;
  /** Labels of its image; `undefined` if the engine no longer has the image. */
  readonly imageLabels: Labels | undefined;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Rebuilds the record of an app from its container; `undefined` if that gives no valid specification. Earlier releases
 * omitted labels without a value, so a label may come from the image. The hash of the specification, which was always
 * set, decides between the candidates.
 *
 * @param matchesHash whether the container's hash label is the hash of this specification
 */
export function adopt(found: OrphanConfig, matchesHash: (spec: AppSpec) => boolean): AppRecord | undefined {
  const specs = candidateSpecs(found);
  const spec = specs.find((candidate) => candidate && matchesHash(candidate)) ?? specs[0];
  // Whether it was stopped on purpose is lost with the store. `newApp` assumes that it is to run, as most apps are.
  return spec && { ...newApp(spec, found), previousImageId: previousImageOf(found), isAdopted: true };
}

/** Specifications the container may have been created from, most likely first; `undefined` for an invalid one. */
function candidateSpecs(found: OrphanConfig): (AppSpec | undefined)[] {
  const specs: (AppSpec | undefined)[] = [];
  for (const extras of possibleLabelValues(found, LABELS.extras)) {
    for (const image of possibleLabelValues(found, LABELS.image)) {
      for (const secrets of possibleLabelValues(found, LABELS.secretVariables)) {
        for (const environment of possibleEnvironments(found)) {
          const parsed = toSpec(found, { extras, image: image ?? found.image, secrets, environment });
          specs.push(parsed.ok ? parsed.spec : undefined);
        }
      }
    }
  }
  return specs;
}

/** Possible values of a label, most likely first. A value that the image has too probably comes from the image. */
function possibleLabelValues({ labels, imageLabels }: OrphanConfig, label: string): readonly (string | undefined)[] {
  const value = labels[label];
  if (value === undefined) return [undefined];
  if (!imageLabels) return [value, undefined];
  return imageLabels[label] === value ? [undefined, value] : [value];
}

/** Engines list the requested variables first, then the image's. Without the image, the boundary is unknown. */
function possibleEnvironments({ environment, imageLabels }: OrphanConfig): (readonly string[])[] {
  if (imageLabels) return [environment];
  return [environment, ...environment.map((_, length) => environment.slice(0, length))];
}

function previousImageOf(found: OrphanConfig): string | undefined {
  // Empty if there was none.
  return possibleLabelValues(found, LABELS.previousImage)[0] || undefined;
}

interface SpecCandidate {
  readonly extras: string | undefined;
  readonly image: string;
  readonly secrets: string | undefined;
  readonly environment: readonly string[];
}

function toSpec(found: OrphanConfig, { extras, image, secrets, environment }: SpecCandidate): ParsedAppSpec {
  const known = parseSecrets(secrets);
  const fields: { readonly volumes?: unknown; readonly files?: unknown } = parseExtras(extras);
  const placed = targetsOfFiles(fields);
  const volumes = found.volumes.filter(({ target }) => !placed.has(normalizePath(target)));
  return parseAppSpec({
    ...fields,
    name: found.app,
    image,
    host_network: found.hostNetwork,
    privileged: found.privileged,
    environments: known ? environment.map((entry) => toVariable(entry, known)) : INVALID,
    ports: found.ports.map(({ hostPort, targetPort, protocol, hostAddress }) => ({
      host_port: hostPort,
      target_port: targetPort,
      ...(protocol && { protocol }),
      ...(hostAddress !== undefined && { host_address: hostAddress }),
    })),
    volumes: volumesOfContainer(fields.volumes, volumes),
  });
}

/** Engines list the files of an app among its volumes. */
function targetsOfFiles(fields: { readonly files?: unknown }): ReadonlySet<string> {
  const parsed = storedFiles.safeParse(fields.files);
  return new Set(parsed.data?.map(({ target }) => target));
}

/** Text that is not JSON makes the specification invalid: an app must not be adopted without its limits. */
function parseExtras(label: string | undefined): object {
  if (label === undefined) return {};
  try {
    const value = parseBoundedJson(label, "request");
    return typeof value === "object" && value !== null ? value : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

/** Not a field of a specification, so parsing rejects it. */
const UNREADABLE = { unreadable_extras: true };

/** Not a list, so parsing rejects it. */
const INVALID = null;

/** What a label says of the variables: see `toSecretsLabel`. */
interface LabelledSecrets {
  readonly keys: ReadonlySet<unknown>;
  readonly places: ReadonlyMap<unknown, readonly unknown[]>;
}

/** `undefined` for text that is no list: the app must not be adopted then, since its log would show its secrets. */
function parseSecrets(label: string | undefined): LabelledSecrets | undefined {
  if (label === undefined) return { keys: new Set(), places: new Map() };
  try {
    const value = parseBoundedJson(label, "request");
    if (!Array.isArray(value)) return undefined;
    const places = value.filter((entry): entry is unknown[] => Array.isArray(entry));
    return { keys: new Set(value), places: new Map(places.map(([key, ...found]) => [key, found])) };
  } catch {
    return undefined;
  }
}

function toVariable(entry: string, { keys, places }: LabelledSecrets): AppSpec["environments"][number] {
  const [key = "", ...rest] = entry.split("=");
  const value = rest.join("=");
  const parts = (places.get(key) ?? []).flatMap((place) => {
    return Array.isArray(place) ? [value.slice(Number(place[0]), Number(place[1]))] : [];
  });
  return {
    key,
    value,
    ...(keys.has(key) && { secret: true }),
    ...(parts.length > 0 && { secret_parts: parts }),
  };
}
