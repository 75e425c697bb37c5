import { type AppChange, MAX_CHANGED_FIELDS } from "../../../protocol/apps/app-change.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { bindsOf } from "../../../protocol/apps/volume-fields.ts";
import type { AppRecord, DeploymentRecord } from "../records.ts";

interface FoundPort {
  readonly hostPort: number;
  readonly targetPort: number;
  readonly protocol?: string;
  readonly hostAddress?: string;
}

/** What a container was created from, as far as engines tell. */
interface FoundConfig {
  readonly imageId: string;
  /** Without the image's variables. */
  readonly environment: readonly string[];
  readonly ports: readonly FoundPort[];
  readonly volumes: readonly { readonly local: string; readonly target: string; readonly readonly: boolean }[];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
}

/** Whether two ids are of one image. Podman leaves out the algorithm in places. */
export function isSameImage(one: string, other: string): boolean {
  return one.replace("sha256:", "") === other.replace("sha256:", "");
}

/**
 * Returns the fields in which a container that the agent does not know differs from the app it has the labels and the name
 * of. Empty for one that the agent has made itself, in a repair.
 */
export function foreignFields({ spec, imageId }: Pick<AppRecord, "spec" | "imageId">, found: FoundConfig): string[] {
  const variables = new Set(spec.environments.map(({ key, value }) => `${key}=${value}`));
  const differs = {
    image: !isSameImage(imageId, found.imageId),
    // One that is missing may be the image's own.
    environments: found.environment.some((variable) => !variables.has(variable)),
    ports: !spec.host_network && !isSameSet(spec.ports.map(specPort), found.ports.map(foundPort)),
    volumes: !hasSameBinds(spec, found),
    host_network: spec.host_network !== found.hostNetwork,
    privileged: spec.privileged !== found.privileged,
  };
  return Object.entries(differs).flatMap(([field, isDifferent]) => (isDifferent ? [field] : []));
}

function hasSameBinds(spec: AppSpec, { volumes }: FoundConfig): boolean {
  const files = new Set((spec.files ?? []).map(({ target }) => normalizePath(target)));
  const found = volumes.filter(({ target }) => !files.has(normalizePath(target)));
  return isSameSet(bindsOf(spec).map(bindText), found.map(bindText));
}

function bindText({ local, target, readonly }: FoundConfig["volumes"][number]): string {
  return JSON.stringify([normalizePath(local), normalizePath(target), readonly]);
}

function specPort({ host_port, target_port, protocol = "tcp", host_address = "" }: AppSpec["ports"][number]): string {
  return `${host_address}:${host_port}:${target_port}/${protocol}`;
}

function foundPort({ hostPort, targetPort, protocol = "tcp", hostAddress = "" }: FoundPort): string {
  return `${hostAddress}:${hostPort}:${targetPort}/${protocol}`;
}

function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify([...new Set(one)].toSorted()) === JSON.stringify([...new Set(other)].toSorted());
}

/** Returns the mark of an app that another tool has made anew; `undefined` where it has not. */
export function foreignChange(what: readonly string[], now: number): AppChange | undefined {
  return what.length > 0 ? { by: "foreign", what: [...what], ...sinceOf(now) } : undefined;
}

/** Returns the mark of an app of a fleet that something else than the fleet updates. */
export function updateChange(
  { origin, imageId }: Pick<DeploymentRecord, "origin" | "imageId">,
  spec: AppSpec,
  previous: AppRecord,
  now: number,
): AppChange {
  const { what: earlier = [], since } = previous.changed?.by === "foreign" ? {} : (previous.changed ?? {});
  const before: Readonly<Record<string, unknown>> = previous.spec;
  const after: Readonly<Record<string, unknown>> = spec;
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = keys.filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
  const image = imageId === previous.imageId ? [] : ["image"];
  const what = [...new Set([...earlier, ...image, ...differing])].slice(0, MAX_CHANGED_FIELDS);
  return {
    by: origin === "local" ? "local" : "api",
    ...(what.length > 0 && { what }),
    ...(since === undefined ? sinceOf(now) : { since }),
  };
}

/** Earlier times are of a device whose clock was not set. */
const MIN_PLAUSIBLE_S = Date.parse("2020-01-01T00:00:00Z") / 1000;

function sinceOf(now: number): Pick<AppChange, "since"> {
  return now < MIN_PLAUSIBLE_S ? {} : { since: now };
}

/** Describes a foreign container for people; `undefined` where it is the agent's. */
export function foreignText(changed: AppChange | undefined): string | undefined {
  if (changed?.by !== "foreign") return undefined;
  return `another tool made its container anew, with another ${(changed.what ?? []).join(", ") || "configuration"}`;
}
