import { isMoving, parseImageReference } from "../../protocol/image-reference.ts";

/**
 * Whether to ask the registry. An image that is present is used as it is, unless its reference is one that moves
 * (`latest`, or no tag at all): then there may be a newer one. A reference with a digest is found locally only when
 * the digest matches, so presence decides.
 */
export function mustPull(reference: string, present: boolean): boolean {
  if (!present) return true;
  const parsed = parseImageReference(reference);
  return parsed !== undefined && isMoving(parsed);
}

/** What a failed attempt to pull leads to. */
export type PullRetry = "give_up" | "use_present" | "retry";

/**
 * What to do after attempt number `attempt` (1 for the first) failed.
 *
 * @param present an image of this reference is on the machine
 */
export function afterFailedPull(kind: string, attempt: number, attempts: number, present: boolean): PullRetry {
  if (kind !== "registry_unreachable") return "give_up";
  if (present) return "use_present";
  return attempt < attempts ? "retry" : "give_up";
}
