import { appExtras } from "../../src/protocol/app-extras.ts";
import type { AppSpec } from "../../src/protocol/app-spec.ts";

/*
 * Every field of an app, for tests that walk over all of them. A field that is missing here does not compile.
 */

/** A field's value with every field of its entries, or of the object. */
type Complete<T> = T extends readonly (infer E)[] ? Complete<E>[] : T extends object ? { [K in keyof T]-?: T[K] } : T;

/** An app with every field. */
export type FullSpec = { [K in keyof AppSpec]-?: Complete<NonNullable<AppSpec[K]>> };

export type AppField = keyof FullSpec;

/** An app in which every field differs from its default. */
export const FULL: FullSpec = {
  name: "full",
  image: "example/full:1",
  host_network: true,
  privileged: true,
  environments: [{ key: "LEVEL", value: "info", secret: true }],
  ports: [{ host_port: 30_053, target_port: 53, protocol: "udp" }],
  volumes: [{ local: "/var/lib/full", target: "/data", readonly: true }],
  command: ["serve", "--all"],
  cpu_limit: 0.5,
  memory_limit: 268_435_456,
  devices: [{ local: "/dev/ttyUSB0", target: "/dev/ttyACM0", permissions: "rw" }],
  healthcheck: { command: ["check"], interval_s: 10, timeout_s: 5, retries: 2, start_period_s: 60 },
  restart_policy: "on-failure",
  pull: "changed",
  health_timeout_s: 300,
  project: "line-3",
};

/** Another value of each field than in `FULL`, in the entries too. */
const OTHER: FullSpec = {
  name: "other",
  image: "example/full:2",
  host_network: false,
  privileged: false,
  environments: [{ key: "OTHER", value: "debug", secret: false }],
  ports: [{ host_port: 30_054, target_port: 54, protocol: "tcp" }],
  volumes: [{ local: "/var/lib/other", target: "/other", readonly: false }],
  command: ["serve"],
  cpu_limit: 2,
  memory_limit: 134_217_728,
  devices: [{ local: "/dev/ttyUSB1", target: "/dev/ttyS0", permissions: "r" }],
  healthcheck: { command: ["other"], interval_s: 20, timeout_s: 6, retries: 4, start_period_s: 120 },
  restart_policy: "always",
  pull: "always",
  health_timeout_s: 600,
  project: "line-4",
};

/** The value that means the same as the field's absence. `undefined`: there is none, or the field is required. */
export const DEFAULTS: Readonly<Record<AppField, unknown>> = {
  name: undefined,
  image: undefined,
  host_network: false,
  privileged: false,
  environments: [],
  ports: [],
  volumes: [],
  command: undefined,
  cpu_limit: undefined,
  memory_limit: undefined,
  devices: [],
  healthcheck: undefined,
  restart_policy: "unless-stopped",
  pull: undefined,
  health_timeout_s: undefined,
  project: undefined,
};

export const APP_FIELDS = Object.keys(FULL) as AppField[];

/** The fields that are no part of a specification by default. An update removes them with `null`. */
export const EXTRA_FIELDS = APP_FIELDS.filter((field) => Object.hasOwn(appExtras, field));

/** `FULL` with one field changed. `path`: as a person writes it, such as `volumes[].readonly`. */
export interface ChangedSpec {
  readonly field: AppField;
  readonly path: string;
  readonly spec: AppSpec;
}

/** Returns `FULL` once for each field with its other value, and once for each field inside lists and objects. */
export function everyChange(): ChangedSpec[] {
  const whole = APP_FIELDS.map((field) => ({ field, path: field, spec: { ...FULL, [field]: OTHER[field] } }));
  return [...whole, ...APP_FIELDS.flatMap(changesInside)];
}

function changesInside(field: AppField): ChangedSpec[] {
  const [full, other]: unknown[] = [FULL[field], OTHER[field]];
  const isList = Array.isArray(full);
  const [from, to]: unknown[] = isList && Array.isArray(other) ? [full[0], other[0]] : [full, other];
  if (!isObject(from) || !isObject(to)) return [];
  return Object.keys(from)
    .filter((name) => from[name] !== to[name])
    .map((name) => {
      const changed = { ...from, [name]: to[name] };
      const path = `${field}${isList ? "[]" : ""}.${name}`;
      return { field, path, spec: { ...FULL, [field]: isList ? [changed] : changed } };
    });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
