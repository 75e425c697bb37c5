import type { appExtras } from "./app-extras.ts";

/*
 * The fields of an app that were added after protocol version 1. A device of an earlier version would run the app without
 * such a field, or refuse the whole request as invalid, so it is sent none of them: see `requiredFeatures`.
 */

/**
 * The feature that each added field belongs to, by where the field is: in the app itself, or in each entry of the named
 * list or object of version 1. Every field added to `appSpecSchema` must be listed here. Fields of an object that was
 * itself added need no entry until a later version than the object's adds to them.
 *
 * The value `null` or `false` of a listed field must mean the same as its absence: it is removed from what is sent to a
 * device that does not know the field.
 */
export const ADDED_FIELDS = {
  app: {
    command: "extraAppFields",
    cpu_limit: "extraAppFields",
    memory_limit: "extraAppFields",
    devices: "extraAppFields",
    healthcheck: "extraAppFields",
    restart_policy: "extraAppFields",
    pull: "pullPolicy",
    health_timeout_s: "healthTimeout",
    entrypoint: "containerOptions",
    user: "containerOptions",
    working_dir: "containerOptions",
    cap_add: "containerOptions",
    cap_drop: "containerOptions",
    read_only: "containerOptions",
    tmpfs: "containerOptions",
    shm_size: "containerOptions",
    ulimits: "containerOptions",
    sysctls: "containerOptions",
    extra_hosts: "containerOptions",
    dns: "containerOptions",
    hostname: "containerOptions",
    labels: "containerOptions",
    init: "containerOptions",
    stop_signal: "containerOptions",
    stop_grace_s: "containerOptions",
    log: "containerOptions",
    gpus: "containerOptions",
    group_add: "composeOptions",
    pids_limit: "composeOptions",
    security_opt: "composeOptions",
    pid: "composeOptions",
    ipc: "composeOptions",
    memory_swap_limit: "composeOptions",
    no_healthcheck: "composeOptions",
    project: "apply",
    networks: "networks",
    internal_networks: "composeOptions",
    network: "networks",
    aliases: "composeOptions",
    files: "files",
  },
  environments: { secret: "declaredSecrets", secret_parts: "secretParts" },
  ports: { protocol: "extraAppFields", host_address: "composeOptions" },
  volumes: { name: "namedVolumes", owner: "volumeOwners", nocopy: "composeOptions", shared: "composeOptions" },
  tmpfs: { exec: "composeOptions" },
  devices: {},
  files: { content_gzip: "composeOptions" },
  healthcheck: {},
} as const satisfies FieldsByPlace;

interface FieldsByPlace extends Readonly<Record<string, Readonly<Record<string, string>>>> {
  readonly app: Readonly<Record<keyof typeof appExtras, string>>;
}

type FeaturesOf<T> = T extends Readonly<Record<string, string>> ? T[keyof T] : never;

/** A feature that a field of an app belongs to. */
export type FieldFeature = FeaturesOf<(typeof ADDED_FIELDS)[keyof typeof ADDED_FIELDS]>;

/** The added fields of a list's entries or of an object; `undefined` for a field of the app that has none. */
const ADDED_INSIDE = new Map<string, ReadonlyMap<string, FieldFeature>>(
  Object.entries(ADDED_FIELDS).map(([place, features]) => [place, new Map(Object.entries(features))]),
);
const ADDED_TO_APP = ADDED_INSIDE.get("app") ?? new Map<string, FieldFeature>();
ADDED_INSIDE.delete("app");

export interface UsedField {
  /** As a person writes it: `pull`, `environments[].secret`. */
  readonly path: string;
  readonly feature: FieldFeature;
}

/** Returns the added fields that an app or an update uses, each once. */
export function addedFieldsIn(spec: unknown): UsedField[] {
  const found = new Map<string, FieldFeature>();
  visitAddedFields(spec, (path, feature, value) => {
    if (!meansAbsent(value)) found.set(path, feature);
    return true;
  });
  return [...found].map(([path, feature]) => ({ path, feature }));
}

/**
 * Returns the app or the update without the added fields that the device does not know and that say nothing to it: `null`
 * removes a field that its app cannot have, and `false` is the default. Fields with another value are kept.
 */
export function withoutUnknownNulls(spec: unknown, isKnown: (feature: FieldFeature) => boolean): unknown {
  return visitAddedFields(spec, (_path, feature, value) => !meansAbsent(value) || isKnown(feature));
}

function meansAbsent(value: unknown): boolean {
  return value === null || value === false || value === undefined;
}

/** Whether to keep the field. */
type Visit = (path: string, feature: FieldFeature, value: unknown) => boolean;

/** Calls `visit` for each added field in the value. Returns a copy with the fields it keeps. */
function visitAddedFields(spec: unknown, visit: Visit): unknown {
  if (!isObject(spec)) return spec;
  const kept = Object.entries(keepFields(spec, ADDED_TO_APP, "", visit));
  return Object.fromEntries(kept.map(([name, value]) => [name, visitInside(name, value, visit)]));
}

function visitInside(name: string, value: unknown, visit: Visit): unknown {
  const added = ADDED_INSIDE.get(name);
  if (!added || added.size === 0) return value;
  if (Array.isArray(value)) {
    return value.map((entry: unknown) => (isObject(entry) ? keepFields(entry, added, `${name}[].`, visit) : entry));
  }
  return isObject(value) ? keepFields(value, added, `${name}.`, visit) : value;
}

function keepFields(
  object: Readonly<Record<string, unknown>>,
  added: ReadonlyMap<string, FieldFeature>,
  prefix: string,
  visit: Visit,
): Record<string, unknown> {
  const kept = Object.entries(object).filter(([name, value]) => {
    const feature = added.get(name);
    return feature === undefined || visit(prefix + name, feature, value);
  });
  return Object.fromEntries(kept);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
