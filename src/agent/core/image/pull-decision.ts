import { hasFloatingTag, parseImageReference } from "../../../protocol/image-reference.ts";
import type { EngineErrorKind, RegistryErrorKind } from "../error-kind.ts";

/**
 * Whether to ask the registry. An image that is present is used as it is, unless its reference is one that moves
 * (`latest`, or no tag at all): then there may be a newer one. A reference with a digest is found locally only when
 * the digest matches, so presence decides.
 */
export function mustPull(reference: string, present: boolean): boolean {
  if (!present) return true;
  const parsed = parseImageReference(reference);
  return parsed !== undefined && hasFloatingTag(parsed);
}

/** What a failed attempt to pull leads to. */
export type PullRetry = "give_up" | "use_present" | "retry";

/**
 * What to do after attempt number `attempt` (1 for the first) failed.
 *
 * @param present an image of this reference is on the machine
 */
export function afterFailedPull(kind: EngineErrorKind, attempt: number, attempts: number, present: boolean): PullRetry {
  if (kind !== "registry_unreachable") return "give_up";
  if (present) return "use_present";
  return attempt < attempts ? "retry" : "give_up";
}

/** Kinds of a registry's errors that may be over the next time. */
const TRANSIENT_KINDS: ReadonlySet<RegistryErrorKind> = new Set([
  "registry_unreachable",
  "rate_limited",
  "wrong_content",
]);

/** How often the agent asks a registry that does not answer before the engine is to try. */
const MAX_LOOKUPS_BEFORE_ENGINE = 2;

export interface LookupAttempt {
  /** 1 for the first. */
  readonly attempt: number;
  readonly attempts: number;
  /** An image of this reference is on the machine, and will do. */
  readonly present: boolean;
  /** The price must be known, since there is a bound to hold it against. */
  readonly requiresCost: boolean;
  /** The registry was shown credentials. */
  readonly hasCredentials: boolean;
}

/**
 * What to do after the registry could not be asked what an image is. The container engine may know a way that the agent
 * does not: a mirror, a proxy of its own, a login of its own. It is not asked where its answer would be the same, or
 * where it would download at any price.
 */
export function decideLookupRetry(kind: RegistryErrorKind, lookUp: LookupAttempt): PullRetry | "ask_engine" {
  // An engine would go where the agent does not, and take the credentials along.
  if (kind === "wrong_platform" || kind === "refused_target" || (kind === "image_denied" && lookUp.hasCredentials))
    return "give_up";
  const mayPass = TRANSIENT_KINDS.has(kind) && lookUp.attempt < lookUp.attempts;
  // The engine's own pull keeps nothing of what a link breaks off: it is no way out of a moment without one.
  if (!lookUp.requiresCost) return mayPass && lookUp.attempt < MAX_LOOKUPS_BEFORE_ENGINE ? "retry" : "ask_engine";
  if (!TRANSIENT_KINDS.has(kind)) return "give_up";
  if (lookUp.present) return "use_present";
  return mayPass ? "retry" : "give_up";
}
