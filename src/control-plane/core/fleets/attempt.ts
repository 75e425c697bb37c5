import { type AppDependency, type AppliedApp, MAX_KEPT_IMAGES } from "../../../protocol/apps/apply.ts";
import { substitute, variablesIn, type VariableValue } from "../../../protocol/values/substitute.ts";
import type { Goal, RevisionContent } from "./fleet.ts";
import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import type { Direction, Target } from "./rollout.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { PastAttemptState, TargetState } from "../../../protocol/fleets/rollout.ts";

/** The body of the deployment with action `apply` that brings an asset to a goal. */
interface AttemptRequest {
  readonly project: string;
  readonly apps: readonly { readonly app: AppliedApp; readonly depends_on: readonly AppDependency[] }[];
  readonly adopt: true;
  readonly prune: false;
  readonly max_download_bytes?: number;
  readonly remove?: readonly string[];
  readonly fleet?: { readonly name: string; readonly revision: number };
  /** Images that the device does not clean up while the rollout may go back. */
  readonly keep_images?: readonly string[];
}

type AttemptRequestResult =
  | { readonly kind: "request"; readonly request: AttemptRequest }
  /** These variables are missing: `InvalidRequest`. */
  | { readonly kind: "missing_variables"; readonly names: readonly string[] };

/** What an attempt is made from. */
export interface AttemptInput {
  readonly goal: Goal;
  /** The revisions that the asset may have to run while the rollout lasts: the new one, and the one before. */
  readonly revisions: readonly (RevisionContent | undefined)[];
  readonly variables: ReadonlyMap<string, VariableValue>;
  readonly strategy: Pick<RolloutStrategy, "max_download_bytes">;
}

/** Returns the request of an attempt, with variables put in. A value with a secret variable in it is a secret. */
export function attemptRequest({ goal, revisions, variables, strategy }: AttemptInput): AttemptRequestResult {
  const missing = neededVariables(goal).filter((name) => !variables.has(name));
  if (missing.length > 0) return { kind: "missing_variables", names: missing };
  const { max_download_bytes: maxDownloadBytes } = strategy;
  const request: AttemptRequest = {
    project: goal.fleet,
    apps: goal.apps.flatMap((entry) =>
      "absent" in entry ? [] : [{ ...entry, app: withValues(entry.app, variables) }],
    ),
    adopt: true,
    prune: false,
    ...(maxDownloadBytes !== undefined && { max_download_bytes: maxDownloadBytes }),
    ...fleetFields(goal, revisions),
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

function withValues(app: AppliedApp, variables: AttemptInput["variables"]): AppliedApp {
  return { ...app, environments: app.environments.map((entry) => withValue(entry, variables)) };
}

type Variable = AppliedApp["environments"][number];

/** A secret is named as a part too: the app may print it without the rest of the value. */
function withValue(entry: Variable, variables: AttemptInput["variables"]): Variable {
  if (entry.value === undefined) return entry;
  const result = substitute(entry.value, variables);
  if (!result.ok) throw new Error(`variables are missing: ${result.missing.join(", ")}`);
  const { value, secrets } = result;
  const parts = secrets.filter((secret) => secret !== value && secret !== "");
  return {
    ...entry,
    value,
    ...(secrets.length > 0 && { secret: true }),
    ...(parts.length > 0 && { secret_parts: [...(entry.secret_parts ?? []), ...parts] }),
  };
}

/** Attempts that are kept of a target in each direction, and how much of their words. */
export const MAX_PAST_ATTEMPTS = 10;
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_LOGS_LENGTH = 2_000;

/** An attempt that has ended, as it stays on record whatever happens to its target. Times are Unix milliseconds. */
export interface PastAttempt {
  readonly direction: Direction;
  /** Its number in this direction, from 1. */
  readonly attempt: number;
  /**
   * What the target was at its end; `failed` also where another attempt followed. `not_counted`: it has said nothing about the revision,
   * such as because it did not reach the device.
   */
  readonly state: PastAttemptState;
  readonly code: ErrorCode | undefined;
  readonly message: string | undefined;
  readonly deploymentId: string | undefined;
  readonly begunAtMs: number | undefined;
  readonly endedAtMs: number;
  /** The last lines of the app's output, where the device has sent them. */
  readonly logs: string | undefined;
}

const ENDS: ReadonlySet<TargetState> = new Set(["failed", "refused", "lost", "changed_by_hand"]);
/** States of a target whose latest attempt has ended, with which it is on record. */
const AFTER_END: ReadonlySet<TargetState> = new Set(["pending", "deferred"]);

/**
 * Returns the attempt that ends with a change of a target, or that the target no longer has after it; `undefined` if there is
 * none. What succeeds is kept when the target goes back: the target itself has it until then. Where the attempt is on record as
 * one that has failed, such as because its device was away for a while, its success is to be kept too: see `isAmendment`.
 *
 * @param logs the last lines of the deployment's app, if there are any
 */
export function pastAttempt(before: Target, after: Target, logs: string | undefined): PastAttempt | undefined {
  if (before.attempt === 0) return undefined;
  const { direction, attempt, begunAtMs } = before;
  const common = { direction, attempt, begunAtMs, deploymentId: before.deploymentId };
  if (after.direction !== before.direction) {
    if (hasEnded(before)) return undefined;
    const { state, code, message, sinceMs } = before;
    return { ...common, state, code, message: shorten(message), endedAtMs: sinceMs, logs: tailOf(logs) };
  }
  if (after.state === before.state || after.attempt !== before.attempt) return undefined;
  const isRepeated = after.state === "pending" && after.code !== undefined;
  const hasSucceeded = after.state === "succeeded" || after.state === "rolled_back";
  if (!isRepeated && !hasSucceeded && !ENDS.has(after.state)) return undefined;
  const { code, message, sinceMs: endedAtMs } = after;
  const state = isCounted(before, after) ? (isRepeated ? "failed" : after.state) : "not_counted";
  return { ...common, state, code, message: shorten(message), endedAtMs, logs: tailOf(logs) };
}

/** Returns the attempt with the last lines of an app's output, if there are any. */
export function withLogs(past: PastAttempt, logs: string | undefined): PastAttempt {
  return { ...past, logs: tailOf(logs) ?? past.logs };
}

/** Whether this only corrects what is on record of the attempt, and is not kept otherwise. */
export function isAmendment(
  past: PastAttempt,
  before: Pick<Target, "direction">,
  after: Pick<Target, "direction">,
): boolean {
  return before.direction === after.direction && (past.state === "succeeded" || past.state === "rolled_back");
}

/** Between two attempts, the last one is on record as what it was. */
function hasEnded({ state, waitsFor }: Target): boolean {
  return AFTER_END.has(state) || (state === "waiting" && waitsFor !== "budget");
}

/** An attempt that fails while it is deployed counts, unless that says nothing about the revision: see `failAttempt`. */
function isCounted(before: Target, after: Target): boolean {
  const hasFailed = after.state === "pending" || after.state === "failed";
  return !hasFailed || before.state === "soaking" || after.failedAttempts > before.failedAttempts;
}

function shorten(message: string | undefined): string | undefined {
  return message === undefined || message.length <= MAX_MESSAGE_LENGTH
    ? message
    : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}

function tailOf(logs: string | undefined): string | undefined {
  return logs === undefined || logs === "" ? undefined : logs.slice(-MAX_LOGS_LENGTH);
}
