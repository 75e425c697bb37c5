import { type AppSpec, type ParsedAppSpec, parseAppSpec } from "../../../protocol/app-spec.ts";
import { oldVersionName, newVersionName, LABELS } from "./container.ts";
import { type AppRecord, newApp } from "../deployment/record.ts";

/** A container that the agent made, by its labels and its name. */
export interface Orphan {
  readonly id: string;
  readonly name: string;
  readonly app: string;
  readonly deploymentId: string;
  /** Whether it was ever started. */
  readonly wasStarted: boolean;
}

/** What is to become of containers the store does not know. */
export interface Adoption {
  readonly adopted: readonly Orphan[];
  /** New versions of updates that had not proved themselves: their old versions are the apps. */
  readonly removed: readonly Orphan[];
}

/**
 * Finds out which of the agent's containers are apps. One that was never started belongs to a deployment that did not get that far, and
 * is left to the control plane, which has it undone. Where there are two of one app, an update was going on: as long as
 * the old version is there, the new one had not proved itself.
 */
export function sortOrphans(found: readonly Orphan[]): Adoption {
  const removed = found.filter((container) =>
    found.some((other) => other !== container && other.app === container.app && isUpdate(container, other)),
  );
  const rest = found.filter((container) => !removed.includes(container));
  return { adopted: rest.filter(({ wasStarted }) => wasStarted), removed };
}

/** Whether `fresh` is the new version and `old` the old one of an update that is not over, by what they are called. */
function isUpdate(fresh: Orphan, old: Orphan): boolean {
  const isBeside = fresh.name === newVersionName(fresh.app) && old.name !== newVersionName(old.app);
  return isBeside || (old.name === oldVersionName(old.app) && fresh.name !== oldVersionName(fresh.app));
}

/** What a container was made from, and the labels it carries. */
export interface OrphanConfig {
  readonly app: string;
  readonly deploymentId: string;
  readonly containerId: string;
  /** What the engine calls the image it was made of: a reference or an id. */
  readonly image: string;
  readonly imageId: string;
  readonly environment: readonly string[];
  readonly ports: readonly {
    readonly hostPort: number;
    readonly targetPort: number;
    readonly protocol?: "tcp" | "udp";
  }[];
  readonly volumes: readonly { readonly local: string; readonly target: string; readonly readonly: boolean }[];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
  readonly labels: Labels;
  /** Those its image brings; `undefined` where the engine has the image no more. */
  readonly imageLabels: Labels | undefined;
}

type Labels = Readonly<Record<string, string>>;

/**
 * Returns the record of an app whose record was lost, read off its container; `undefined` when that makes no valid app.
 * Releases before set a label only where they had something to say, so that one may be the image's own; the hash of the
 * specification, which was always set, tells.
 *
 * @param isAsked whether the hash on the label is this specification's
 */
export function adopt(found: OrphanConfig, isAsked: (spec: AppSpec) => boolean): AppRecord | undefined {
  const specs = candidateSpecs(found);
  const spec = specs.find((candidate) => candidate && isAsked(candidate)) ?? specs[0];
  // Whether it was stopped on purpose is lost with the store; an app that runs is what most are for.
  return spec && { ...newApp(spec, found), previousImageId: previousImageOf(found), isAdopted: true };
}

/** The specifications that the container may have been made by, the likeliest first; `undefined` for no valid one. */
function candidateSpecs(found: OrphanConfig): (AppSpec | undefined)[] {
  const specs: (AppSpec | undefined)[] = [];
  for (const extras of possibleLabelValues(found, LABELS.extras)) {
    for (const image of possibleLabelValues(found, LABELS.image)) {
      for (const environment of possibleEnvironments(found)) {
        const parsed = toSpec(found, { extras, image: image ?? found.image, environment });
        specs.push(parsed.ok ? parsed.spec : undefined);
      }
    }
  }
  return specs;
}

/** What a label may stand for. One that the image brings too is likely to be no more than that. */
function possibleLabelValues({ labels, imageLabels }: OrphanConfig, label: string): readonly (string | undefined)[] {
  const value = labels[label];
  if (value === undefined) return [undefined];
  if (!imageLabels) return [value, undefined];
  return imageLabels[label] === value ? [undefined, value] : [value];
}

/** Engines list what was asked for first, and what the image brings behind it; where that is gone, any part may be its. */
function possibleEnvironments({ environment, imageLabels }: OrphanConfig): (readonly string[])[] {
  if (imageLabels) return [environment];
  return [environment, ...environment.map((_, length) => environment.slice(0, length))];
}

function previousImageOf(found: OrphanConfig): string | undefined {
  // Empty where there was none.
  return possibleLabelValues(found, LABELS.previousImage)[0] || undefined;
}

interface SpecCandidate {
  readonly extras: string | undefined;
  readonly image: string;
  readonly environment: readonly string[];
}

function toSpec(found: OrphanConfig, { extras, image, environment }: SpecCandidate): ParsedAppSpec {
  return parseAppSpec({
    ...parseExtras(extras),
    name: found.app,
    image,
    host_network: found.hostNetwork,
    privileged: found.privileged,
    environments: environment.map(splitVariable),
    ports: found.ports.map(({ hostPort, targetPort, protocol }) => ({
      host_port: hostPort,
      target_port: targetPort,
      ...(protocol && { protocol }),
    })),
    volumes: found.volumes,
  });
}

/** What is no JSON makes no valid app either: rather none than one without its limits. */
function parseExtras(label: string | undefined): object {
  if (label === undefined) return {};
  try {
    const value: unknown = JSON.parse(label);
    return typeof value === "object" && value !== null ? value : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

/** No field of a specification. */
const UNREADABLE = { unreadable_extras: true };

function splitVariable(entry: string): { key: string; value: string } {
  const [key = "", ...rest] = entry.split("=");
  return { key, value: rest.join("=") };
}
