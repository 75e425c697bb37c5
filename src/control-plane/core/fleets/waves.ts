import type { RolloutStrategy } from "../../../protocol/rollout-strategy.ts";
import { countOf } from "../../../protocol/share.ts";
import { matchesSelector, parseSelector, type Selectable } from "../../../protocol/selector.ts";
import { inStableOrder } from "./stable-order.ts";

/** A member of the fleet when the rollout is started. */
export interface WaveMember extends Selectable {
  readonly assetUuid: string;
}

/**
 * Divides the members into waves: the result has one list more than the strategy has waves, the last with all others. Each
 * member is in exactly one.
 *
 * A wave takes members until it and those before have as many as its limit says; a percentage is of all members, rounded up.
 * A wave with a selector takes only members that it matches, and so may have fewer, or none; what it leaves out goes to later
 * waves. The order of members differs from rollout to rollout, so that it is not always the same ones that come first.
 */
export function planWaves<T extends WaveMember>(
  rolloutId: string,
  { waves }: Pick<RolloutStrategy, "waves">,
  members: readonly T[],
): readonly (readonly T[])[] {
  let remaining = inStableOrder(rolloutId, members);
  const planned: (readonly T[])[] = [];
  for (const { limit, selector } of waves) {
    const room = countOf(limit, members.length) - (members.length - remaining.length);
    const taken = remaining.filter(matcher(selector)).slice(0, Math.max(0, room));
    const isTaken = new Set(taken);
    remaining = remaining.filter((member) => !isTaken.has(member));
    planned.push(taken);
  }
  return [...planned, remaining];
}

function matcher(selector: string | undefined): (member: WaveMember) => boolean {
  if (selector === undefined) return () => true;
  const parsed = parseSelector(selector);
  if (!parsed.ok) throw new Error(`a selector of a strategy is not valid: ${parsed.reason}`);
  return (member) => matchesSelector(parsed.terms, member);
}
