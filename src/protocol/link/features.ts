import type { DeployOptions } from "../apps/deploy-request.ts";
import type { DeploymentAction } from "../deployments/deployment-action.ts";
import { PROTOCOL_VERSIONS, type ProtocolVersions } from "../version.ts";

/*
 * A feature is a part of the protocol that a version after the first has added (`ProtocolVersions.added`). Its name says what
 * it is, as a person knows it:
 *
 * - a field of an app, as `pull` or `environments[].secret`; `null` and `false` must mean the same as its absence;
 * - `apply.` and a field of an apply, as `apply.remove` or `apply.apps[].depends_on`;
 * - `option`, `action` or `query` and its name, as `option dry_run`.
 *
 * A device whose version does not have a feature is not sent what uses it: the request fails with `DeviceTooOld`.
 */

/** Returns the features that a peer does not have. @param version the negotiated protocol version */
export function unknownFeatures(version: number, { added }: ProtocolVersions = PROTOCOL_VERSIONS): ReadonlySet<string> {
  return new Set(Object.keys(added).filter((feature) => (added[feature] ?? 0) > version));
}

/** What decides which features a command needs. */
export interface CommandNeeds {
  readonly action: DeploymentAction;
  /** The app for a deployment, the changes for an update, the group for an apply, `null` for other actions. */
  readonly spec: unknown;
  readonly options: Omit<DeployOptions, "registry_auth">;
  readonly hasRegistryAuth: boolean;
}

/** Returns those of the features that the command uses: a device without them would misunderstand or refuse it. */
export function usedFeatures(features: ReadonlySet<string>, command: CommandNeeds): string[] {
  const { action, spec, options, hasRegistryAuth } = command;
  const names = [...Object.keys(options), ...(hasRegistryAuth ? ["registry_auth"] : [])];
  const used = new Set([`action ${action}`, ...names.map((name) => `option ${name}`)]);
  const document = action === "apply" ? { apply: spec } : spec;
  return [...features].filter((feature) => {
    if (used.has(feature)) return true;
    const path = feature.split(".");
    const values = [...valuesAt(document, path), ...(action === "apply" ? valuesInApps(spec, path) : [])];
    return values.some((value) => !meansAbsent(value));
  });
}

/** Returns the app, or the change of one, without those of the features that mean no more than their absence. */
export function withoutAbsent(spec: unknown, features: ReadonlySet<string>): unknown {
  return [...features].reduce((rest, feature) => withoutField(rest, feature.split(".")), spec);
}

function meansAbsent(value: unknown): boolean {
  return value === null || value === false || value === undefined;
}

function valuesInApps(spec: unknown, path: readonly string[]): unknown[] {
  return valuesAt(spec, ["apps[]", "app"]).flatMap((app) => valuesAt(app, path));
}

/** Returns what is found at the path. `name[]` stands for each entry of a list. A value of another shape has nothing there. */
function valuesAt(value: unknown, [first, ...rest]: readonly string[]): unknown[] {
  if (first === undefined) return [value];
  const { name, isList } = parseName(first);
  const inner = isObject(value) ? value[name] : undefined;
  const found = isList ? (Array.isArray(inner) ? (inner as unknown[]) : []) : [inner];
  return found.flatMap((entry) => valuesAt(entry, rest));
}

function withoutField(value: unknown, [first = "", ...rest]: readonly string[]): unknown {
  const { name, isList } = parseName(first);
  if (!isObject(value) || !Object.hasOwn(value, name)) return value;
  const { [name]: inner, ...others } = value;
  if (rest.length === 0) return meansAbsent(inner) ? others : value;
  const visit = (entry: unknown): unknown => withoutField(entry, rest);
  return { ...value, [name]: isList && Array.isArray(inner) ? inner.map(visit) : visit(inner) };
}

function parseName(text: string): { readonly name: string; readonly isList: boolean } {
  return { name: text.replace("[]", ""), isList: text.endsWith("[]") };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
