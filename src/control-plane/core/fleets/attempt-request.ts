import { type AppliedApp, MAX_KEPT_IMAGES } from "../../../protocol/apply.ts";
import type { AppDependency } from "../../../protocol/apply.ts";
import { supports } from "../../../protocol/features.ts";
import { substitute, type VariableValue, variablesIn } from "../../../protocol/substitute.ts";
import { type Goal, removesApps, type RevisionContent } from "./goal.ts";
import { REMOVAL_PROTOCOL } from "./obstacle.ts";
import type { RolloutStrategy } from "../../../protocol/rollout-strategy.ts";
import type { Target } from "./target.ts";

/** The body of the deployment with action `apply` that brings an asset to a goal. */
export interface AttemptRequest {
  readonly project: string;
  readonly apps: readonly { readonly app: AppliedApp; readonly depends_on: readonly AppDependency[] }[];
  readonly adopt: true;
  readonly prune: false;
  readonly max_download_bytes?: number;
  /** From here on: fields of protocol version 4. */
  readonly remove?: readonly string[];
  readonly fleet?: { readonly name: string; readonly revision: number };
  /** Images that the device does not clean up while the rollout may go back. */
  readonly keep_images?: readonly string[];
}

export type AttemptRequestResult =
  | { readonly kind: "request"; readonly request: AttemptRequest }
  /** These variables are missing: `InvalidRequest`. */
  | { readonly kind: "missing_variables"; readonly names: readonly string[] }
  /** The device cannot remove apps in a rollout: `DeviceTooOld`. */
  | { readonly kind: "too_old" };

/** What an attempt is made from. */
export interface AttemptInput {
  readonly goal: Goal;
  /** The revisions that the asset may have to run while the rollout lasts: the new one, and the one before. */
  readonly revisions: readonly (RevisionContent | undefined)[];
  readonly variables: ReadonlyMap<string, VariableValue>;
  readonly strategy: Pick<RolloutStrategy, "max_download_bytes">;
  /** Negotiated protocol version of the device. */
  readonly protocol: number;
}

/** Returns the request of an attempt, with variables put in. A value with a secret variable in it is a secret. */
export function attemptRequest({ goal, revisions, variables, strategy, protocol }: AttemptInput): AttemptRequestResult {
  const missing = neededVariables(goal).filter((name) => !variables.has(name));
  if (missing.length > 0) return { kind: "missing_variables", names: missing };
  if (removesApps(goal) && protocol < REMOVAL_PROTOCOL) return { kind: "too_old" };
  const { max_download_bytes: maxDownloadBytes } = strategy;
  const request: AttemptRequest = {
    project: goal.fleet,
    apps: goal.apps.flatMap((entry) =>
      "absent" in entry ? [] : [{ ...entry, app: withValues(entry.app, variables, protocol) }],
    ),
    adopt: true,
    prune: false,
    ...(maxDownloadBytes !== undefined && { max_download_bytes: maxDownloadBytes }),
    ...(protocol >= REMOVAL_PROTOCOL && fleetFields(goal, revisions)),
  };
  return { kind: "request", request };
}

/** Returns the names of the variables that an asset needs for the goal, each once. */
export function neededVariables({ apps }: Pick<Goal, "apps">): readonly string[] {
  const values = apps
    .flatMap((entry) => ("absent" in entry ? [] : entry.app.environments))
    .map(({ value }) => value ?? "");
  return [...new Set(values.flatMap(variablesIn))];
}

/** What idempotency keys of deployments of fleets begin with, and no key of a client: the space. */
export const FLEET_KEY = " rollout:";

/**
 * Returns the idempotency key of a target's latest attempt, with which a repeat after a crash finds the same deployment. Numbers of
 * attempts begin anew where the upkeep's target is removed and another one made: the time tells the two apart.
 */
export function attemptKey({ rolloutId, begunAtMs, assetUuid, direction, attempt }: Target): string {
  return `${FLEET_KEY}${rolloutId}:${begunAtMs}:${assetUuid}:${direction}:${attempt}`;
}

function fleetFields(goal: Goal, revisions: AttemptInput["revisions"]) {
  const removed = goal.apps.flatMap((entry) => ("absent" in entry ? [entry.absent] : []));
  const kept = revisions.flatMap((content) => content?.apps ?? []);
  const images = kept.flatMap((entry) => ("absent" in entry ? [] : [entry.app.image]));
  return {
    ...(removed.length > 0 && { remove: removed }),
    // What goes back to before the first revision leaves nothing of the fleet, and so nothing to keep images for.
    ...(goal.revision !== undefined && {
      fleet: { name: goal.fleet, revision: goal.revision },
      ...(images.length > 0 && { keep_images: [...new Set(images)].slice(0, MAX_KEPT_IMAGES) }),
    }),
  };
}

function withValues(app: AppliedApp, variables: AttemptInput["variables"], protocol: number): AppliedApp {
  return { ...app, environments: app.environments.map((entry) => withValue(entry, variables, protocol)) };
}

type Variable = AppliedApp["environments"][number];

/** A secret is named as a part too: the app may print it without the rest of the value. */
function withValue(entry: Variable, variables: AttemptInput["variables"], protocol: number): Variable {
  if (entry.value === undefined) return entry;
  const result = substitute(entry.value, variables);
  if (!result.ok) throw new Error(`variables are missing: ${result.missing.join(", ")}`);
  const { value, secrets } = result;
  const parts = secrets.filter((secret) => secret !== value && secret !== "");
  return {
    ...entry,
    value,
    ...(secrets.length > 0 && { secret: true }),
    ...(parts.length > 0 &&
      supports(protocol, "secretParts") && { secret_parts: [...(entry.secret_parts ?? []), ...parts] }),
  };
}
