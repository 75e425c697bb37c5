import type { RolloutStrategy } from "../../../protocol/rollout-strategy.ts";
import { countOf } from "../../../protocol/share.ts";
import { matchesSelector, parseSelector, type Selectable } from "../../../protocol/selector.ts";
import { inStableOrder } from "./stable-order.ts";

/** A member of the fleet when the rollout is planned. */
export interface WaveMember extends Selectable {
  readonly assetUuid: string;
  /** What is in the way of a deployment there now. Members with nothing in the way are drawn first. */
  readonly readiness: Readiness;
}

/** In the order in which members are drawn: what ends by itself comes before what people have to end. */
export const READINESS = ["ready", "away", "blocked"] as const;
export type Readiness = (typeof READINESS)[number];

/** A wave of a strategy, with the UUIDs of the assets that it names. */
export type PlannedWave = Pick<RolloutStrategy["waves"][number], "limit" | "selector" | "by"> & {
  readonly assetUuids?: readonly string[];
};

/**
 * Divides the members into waves: the result has one list more than there are waves, the last with all others. Each member is in
 * exactly one.
 *
 * A wave first takes the members that it names. Then it takes others until it and those before have as many as its limit says; a
 * percentage is of all members, rounded up. Without a limit it takes no others, or with `by` one of each value of the tag that has a
 * member which a deployment can reach. A wave with a selector takes only members that it matches besides those named, and so may
 * have fewer, or none; what it leaves out goes to later waves.
 *
 * Members that a deployment can reach now come first. Among them, `by` takes one of each value of the tag before a second one of
 * any, counting what earlier waves have taken. Otherwise the order differs from plan to plan, so that it is not always the same
 * ones that come first.
 *
 * @param seed decides the order
 */
export function planWaves<T extends WaveMember>(
  seed: string,
  waves: readonly PlannedWave[],
  members: readonly T[],
): readonly (readonly T[])[] {
  const ordered = inStableOrder(seed, members);
  let remaining = READINESS.flatMap((readiness) => ordered.filter((member) => member.readiness === readiness));
  const taken = new Set<T>();
  const planned = waves.map((wave): readonly T[] => {
    const drawn = draw(wave, remaining, taken, members.length);
    for (const member of drawn) taken.add(member);
    remaining = remaining.filter((member) => !taken.has(member));
    return drawn;
  });
  return [...planned, remaining];
}

function draw<T extends WaveMember>(
  { limit, selector, by, assetUuids = [] }: PlannedWave,
  remaining: readonly T[],
  taken: ReadonlySet<T>,
  total: number,
): readonly T[] {
  const names = new Set(assetUuids);
  const named = remaining.filter(({ assetUuid }) => names.has(assetUuid));
  const others = remaining.filter(({ assetUuid }) => !names.has(assetUuid)).filter(matcher(selector));
  const rounds = by === undefined ? undefined : roundsOf(by, others, [...taken, ...named]);
  if (limit === undefined) {
    const firsts = others.filter((member) => rounds?.get(member) === 0);
    // Where none can be reached, a wave without any would be passed at once.
    const hasReady = named.length > 0 || others.some(isReady);
    return [...named, ...(hasReady ? firsts.filter(isReady) : firsts)];
  }
  const room = Math.max(0, countOf(limit, total) - taken.size - named.length);
  const inOrder = rounds ? others.toSorted((one, other) => compare(one, other, rounds)) : others;
  return [...named, ...inOrder.slice(0, room)];
}

const isReady = ({ readiness }: WaveMember): boolean => readiness === "ready";

/** Returns how many with the same value of the tag come before each member, with those that are taken already. */
function roundsOf<T extends WaveMember>(by: string, others: readonly T[], taken: readonly T[]): ReadonlyMap<T, number> {
  const counts = new Map<string, number>();
  for (const { tags } of taken) {
    const value = tags.get(by);
    if (value !== undefined) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return new Map(
    others.map((member) => {
      const value = member.tags.get(by);
      if (value === undefined) return [member, Infinity];
      const round = counts.get(value) ?? 0;
      counts.set(value, round + 1);
      return [member, round];
    }),
  );
}

function compare<T extends WaveMember>(one: T, other: T, rounds: ReadonlyMap<T, number>): number {
  const [first = 0, second = 0] = [rounds.get(one), rounds.get(other)];
  return (
    READINESS.indexOf(one.readiness) - READINESS.indexOf(other.readiness) || (first === second ? 0 : first - second)
  );
}

function matcher(selector: string | undefined): (member: WaveMember) => boolean {
  if (selector === undefined) return () => true;
  const parsed = parseSelector(selector);
  if (!parsed.ok) throw new Error(`a selector of a strategy is not valid: ${parsed.reason}`);
  return (member) => matchesSelector(parsed.terms, member);
}
