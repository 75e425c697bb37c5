import { addedFieldsIn, type UsedField } from "../apps/added-fields.ts";
import type { DeployOptions } from "../apps/deploy-request.ts";
import type { DeploymentAction } from "../deployments/deployment-action.ts";
import type { QueryKind } from "./device-query.ts";

/** The protocol version that introduced each feature. */
const INTRODUCED_IN = {
  /** Frame `command`: actions other than `deploy`. */
  appCommands: 2,
  /** `options` of a command, such as `dry_run` and `registry_auth`. */
  deployOptions: 2,
  /** The fields of an app that version 2 added; this and the other features of fields: see `ADDED_FIELDS`. */
  extraAppFields: 2,
  /** Frames `query`, `query_cancel`, `answer` and `query_end`. */
  queries: 2,
  /** Frame `report`, and `report_hash` of `welcome`. */
  reports: 2,
  /** `environments[].secret`. */
  declaredSecrets: 3,
  /** `pull`. */
  pullPolicy: 3,
  /** `health_timeout_s`. */
  healthTimeout: 3,
  /** The options of an app's container, such as `entrypoint` and `cap_add`. */
  containerOptions: 3,
  /** Frame `apply`, action `apply`, `app` of events, and `project` of an app. */
  apply: 3,
  /** Query `stats`. */
  appStats: 3,
  /** `previous` of the query `logs`. An older device ignores it, and would send the log of the present run. */
  previousLog: 3,
  /** `networks` and `network` of an app. */
  networks: 3,
  /** `volumes[].name`. */
  namedVolumes: 3,
  /** `volumes[].owner`. */
  volumeOwners: 3,
  /** Queries `volumes` and `remove_volume`. */
  volumeQueries: 3,
  /** `files` of an app. */
  files: 3,
  /** Frames `stream_open` and the others of `streams.ts`, and binary messages. */
  streams: 3,
  /** `remove` of an apply, and an apply without `apps`. */
  groupRemovals: 4,
  /** `fleet` and `keep_images` of an apply. */
  fleets: 4,
  /** `environments[].secret_parts`. */
  secretParts: 4,
  /**
   * What compose files say of an app: `aliases`, `group_add`, `pids_limit`, `security_opt`, `pid`, `ipc`, `memory_swap_limit`,
   * `no_healthcheck`, `internal_networks`,
   * `ports[].host_address`, `volumes[].nocopy` and `shared`, `tmpfs[].exec`,
   * `files[].content_gzip`, and the condition `completed` of an apply.
   */
  composeOptions: 5,
} as const;

/** The features of the queries that were added after the others. */
export const QUERY_FEATURES: Partial<Record<QueryKind, ProtocolFeature>> = {
  volumes: "volumeQueries",
  remove_volume: "volumeQueries",
};

/** The fields of an apply that were added after it. */
const APPLY_FIELDS = { remove: "groupRemovals", fleet: "fleets", keep_images: "fleets" } as const;

export type ProtocolFeature = keyof typeof INTRODUCED_IN;

/** Whether a peer has the feature. @param version the negotiated protocol version */
export function supports(version: number, feature: ProtocolFeature): boolean {
  return version >= INTRODUCED_IN[feature];
}

/** What decides which features a command needs. */
export interface CommandNeeds {
  readonly action: DeploymentAction;
  /** The app for a deployment, the changes for an update, the group for an apply, `null` for other actions. */
  readonly spec: unknown;
  readonly options: Omit<DeployOptions, "registry_auth">;
  readonly hasRegistryAuth: boolean;
}

/** A feature that a command needs, and the part of the command that needs it. */
export interface RequiredFeature {
  readonly feature: ProtocolFeature;
  /** As a person knows it: the path of a field, the name of an option, or the action. */
  readonly usedBy: string;
}

/** Returns the features without which a device would misunderstand the command, or refuse it as invalid. */
export function requiredFeatures({ action, spec, options, hasRegistryAuth }: CommandNeeds): RequiredFeature[] {
  const optionNames = [...Object.keys(options), ...(hasRegistryAuth ? ["registry_auth"] : [])];
  const apps = action === "apply" ? appliedApps(spec) : [spec];
  return [
    ...(action === "apply" ? [{ feature: "apply" as const, usedBy: "action apply" }] : []),
    ...(action === "deploy" || action === "apply"
      ? []
      : [{ feature: "appCommands" as const, usedBy: `action ${action}` }]),
    ...optionNames.map((name) => ({ feature: "deployOptions" as const, usedBy: name })),
    ...uniqueFields(apps).map(({ path, feature }) => ({ feature, usedBy: path })),
    ...(action === "apply" ? addedToApply(spec) : []),
  ];
}

/** Returns the features of the fields of an apply that were added after the others. */
function addedToApply(spec: unknown): RequiredFeature[] {
  const fields = new Set(Object.keys(spec ?? {}));
  return [
    ...Object.entries(APPLY_FIELDS).flatMap(([name, feature]) => (fields.has(name) ? [{ feature, usedBy: name }] : [])),
    ...(waitsForCompletion(spec) ? [{ feature: "composeOptions" as const, usedBy: "depends_on[].condition" }] : []),
  ];
}

/** Looks no closer than it must: a request of another shape is refused elsewhere. */
function waitsForCompletion(spec: unknown): boolean {
  const { apps } = (spec ?? {}) as { readonly apps?: unknown };
  const entries = Array.isArray(apps) ? (apps as readonly (Partial<ApplyEntry> | null)[]) : [];
  return entries.some((entry) => entry?.depends_on?.some((other) => other.condition === "completed") ?? false);
}

interface ApplyEntry {
  readonly depends_on: readonly { readonly condition?: string }[];
}

/** Returns the added fields of all apps, each once. */
function uniqueFields(apps: readonly unknown[]): UsedField[] {
  return [...new Map(apps.flatMap(addedFieldsIn).map((field) => [field.path, field])).values()];
}

/** Returns the specifications of the apps in an apply request, as far as it has any. */
function appliedApps(request: unknown): unknown[] {
  return entriesOf(request).flatMap((entry) => (isObject(entry) && "app" in entry ? [entry["app"]] : []));
}

function entriesOf(request: unknown): readonly unknown[] {
  const apps = isObject(request) ? request["apps"] : undefined;
  return Array.isArray(apps) ? apps : [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
