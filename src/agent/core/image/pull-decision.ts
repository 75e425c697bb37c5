import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { DeploymentAction } from "../../../protocol/deployments/deployment-action.ts";
import { hasFloatingTag, parseImageReference } from "../../../protocol/apps/image-reference.ts";
import type { EngineErrorKind, RegistryErrorKind } from "../error-kind.ts";

/**
 * When the registry is asked about an image that is on the device: `pull` of the app, or what applies without it.
 * `newest`: asked, and the engine as well if the registry does not answer; the image on the device is used only if
 * nothing can be reached.
 */
export type PullPolicy = NonNullable<AppSpec["pull"]> | "newest";

/**
 * Returns the policy of a deployment. An update comes here only if it names an image: otherwise the current image is
 * kept, by its id.
 */
export function pullPolicyOf(action: DeploymentAction, { pull, image }: Pick<AppSpec, "pull" | "image">): PullPolicy {
  if (pull !== undefined) return pull;
  if (action === "update") return "changed";
  return isFloating(image) ? "newest" : "missing";
}

/** Whether to ask the registry about a reference that is on the device. One with a digest cannot mean another image. */
export function mustAsk(reference: string, policy: PullPolicy): boolean {
  return policy !== "missing" && parseImageReference(reference)?.digest === undefined;
}

function isFloating(reference: string): boolean {
  const parsed = parseImageReference(reference);
  return parsed !== undefined && hasFloatingTag(parsed);
}

/**
 * Whether the image on the device may replace one that cannot be pulled. With `changed` only as long as the registry has
 * not said that the tag means another image by now: that one was asked for.
 *
 * @param isResolved whether the registry was asked, and named the image to pull
 */
export function mayUsePresent(policy: PullPolicy, isResolved: boolean): boolean {
  return policy !== "always" && !(policy === "changed" && isResolved);
}

/** What to do after a failed pull. `use_local`: use the image that is on the device. */
export type PullRetry = "give_up" | "use_local" | "retry";

/** Errors of an engine for which a retry may succeed. */
const MAY_PASS_KINDS: ReadonlySet<EngineErrorKind> = new Set([
  "registry_unreachable",
  "wrong_content",
  "corrupt_layer",
]);

/**
 * Decides what to do after attempt number `attempt` (1 for the first) failed.
 *
 * @param present whether an image of this reference is on the device
 */
export function afterFailedPull(kind: EngineErrorKind, attempt: number, attempts: number, present: boolean): PullRetry {
  if (kind === "registry_untrusted") return present ? "use_local" : "give_up";
  if (!MAY_PASS_KINDS.has(kind)) return "give_up";
  if (present) return "use_local";
  return attempt < attempts ? "retry" : "give_up";
}

/** Answers of a registry that stay the same when it is asked again. */
const DEFINITE_KINDS: ReadonlySet<RegistryErrorKind> = new Set([
  "image_denied",
  "image_not_found",
  "registry_untrusted",
]);
/** What an engine fails with when it gets no further with the registry than the agent. Texts may be unknown. */
const NO_ACCESS_KINDS: ReadonlySet<EngineErrorKind> = new Set([
  "image_denied",
  "image_not_found",
  "registry_unreachable",
  "registry_untrusted",
  "unknown",
]);

/** Answers that this client cannot use. An engine that cannot use them either fails in words that are not known. */
const UNUSABLE_KINDS: ReadonlySet<RegistryErrorKind> = new Set(["unsupported", "wrong_content"]);

/**
 * Whether the answer that the agent got from the registry is why the engine failed as well. An engine that knows no
 * other way to the image meets the same registry with other words for it, or finds it less trustworthy than the agent
 * does. That is no reason to try again, and not what has to be changed.
 *
 * @param hasReceived whether the engine received any part of a layer: then it has access, and its own error counts
 */
export function isLookupErrorDecisive(
  lookup: RegistryErrorKind,
  engine: EngineErrorKind,
  hasReceived: boolean,
): boolean {
  if (hasReceived) return false;
  if (UNUSABLE_KINDS.has(lookup)) return engine === "unknown";
  return DEFINITE_KINDS.has(lookup) && NO_ACCESS_KINDS.has(engine);
}

/** Kinds of registry errors for which a retry may succeed. */
const TRANSIENT_KINDS: ReadonlySet<RegistryErrorKind> = new Set([
  "registry_unreachable",
  "rate_limited",
  "wrong_content",
  "foreign_answer",
]);

/** How often the agent asks a registry that does not answer before it leaves the pull to the engine. */
const MAX_LOOKUPS_BEFORE_ENGINE = 2;

export interface LookupAttempt {
  readonly reference: string;
  readonly policy: PullPolicy;
  /** 1 for the first. */
  readonly attempt: number;
  readonly attempts: number;
  /** Whether an image of this reference is on the device and may be used. */
  readonly present: boolean;
  /** Whether the cost must be known, because it is limited. */
  readonly requiresCost: boolean;
  /** Whether credentials were sent to the registry. */
  readonly hasCredentials: boolean;
}

/**
 * Decides what to do after the registry could not resolve an image. The engine may have a mirror, a proxy or
 * credentials that the agent does not have. It is not asked if it would fail the same way, or if the cost is limited:
 * an engine downloads without limit.
 */
export function decideLookupRetry(kind: RegistryErrorKind, lookup: LookupAttempt): PullRetry | "ask_engine" {
  // An engine would connect to the refused target, and send the credentials.
  const isFinal =
    kind === "wrong_platform" || kind === "refused_target" || (kind === "image_denied" && lookup.hasCredentials);
  // What answered has no image for an engine either, which would say so in words of its own.
  const isForeign = kind === "foreign_answer";
  if (lookup.policy === "changed" && lookup.present && kind !== "wrong_platform") {
    const mayAsk = !isFinal && !isForeign && !lookup.requiresCost && isFloating(lookup.reference);
    return decideWithPresent(kind, lookup) ?? (mayAsk ? "ask_engine" : "use_local");
  }
  if (isFinal) return "give_up";
  const mayRetry = TRANSIENT_KINDS.has(kind) && lookup.attempt < lookup.attempts;
  // The engine discards an interrupted layer, so a short link failure is retried here first.
  if (!lookup.requiresCost && !isForeign)
    return mayRetry && lookup.attempt < MAX_LOOKUPS_BEFORE_ENGINE ? "retry" : "ask_engine";
  if (!TRANSIENT_KINDS.has(kind)) return "give_up";
  if (lookup.present) return "use_local";
  return mayRetry ? "retry" : "give_up";
}

/** A short link failure is retried. A registry that asks for time is left alone: there is an image to use. */
function decideWithPresent(kind: RegistryErrorKind, { attempt, attempts }: LookupAttempt): "retry" | undefined {
  const isTransient = TRANSIENT_KINDS.has(kind) && kind !== "rate_limited";
  return isTransient && attempt < Math.min(attempts, MAX_LOOKUPS_BEFORE_ENGINE) ? "retry" : undefined;
}
