import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import { countOf } from "../../../protocol/values/share.ts";
import { matchesSelector, parseSelector, type Selectable } from "../../../protocol/fleets/selector.ts";
import type { Person } from "./fleet.ts";
import type { Rollout, Target, TargetCount } from "./rollout.ts";
import { placesTaken } from "./progress.ts";

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

/*
 * An order of assets that looks random, differs from rollout to rollout, and is the same each time it is computed. It only
 * spreads the risk of being in the first wave, so a hash without cryptographic strength is enough.
 */

const FNV_OFFSET_BASIS = 0x81_1c_9d_c5;
const FNV_PRIME = 0x01_00_01_93;

/** Returns the assets in the order of a rollout. Adding or removing some does not change the order of the others. */
function inStableOrder<T extends { readonly assetUuid: string }>(
  rolloutId: string,
  assets: readonly T[],
): readonly T[] {
  return assets
    .map((asset) => ({ asset, hash: hash32(`${rolloutId}/${asset.assetUuid}`) }))
    .toSorted((a, b) => a.hash - b.hash || compareText(a.asset.assetUuid, b.asset.assetUuid))
    .map(({ asset }) => asset);
}

/** FNV-1a of the UTF-16 code units, mixed by the last steps of MurmurHash3, since FNV alone leaves similar texts close. */
function hash32(text: string): number {
  let hash = FNV_OFFSET_BASIS;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), FNV_PRIME);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** How long a plan can be started, in milliseconds. */
export const PLAN_LIFETIME_MS = 7 * 24 * 3_600_000;

/** Plans of one account that are kept. Another one takes the place of the oldest. */
export const MAX_PLANS = 20;

/** What a rollout would bring to which assets, as people have seen it: a rollout that is made from it has the same waves. */
export interface StoredPlan {
  readonly id: string;
  readonly accountId: string;
  readonly fleetId: string;
  readonly revision: number;
  readonly strategy: RolloutStrategy;
  /** UUIDs of the members by wave; the last has all that are in no other. */
  readonly waves: readonly (readonly string[])[];
  readonly createdBy: Person;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** A plan, with the members of now. */
interface CurrentWaves<T> {
  readonly waves: readonly (readonly T[])[];
  /** Number of members of the plan that are none any more. */
  readonly left: number;
  /** Number of members that the plan does not have. They are in the last wave. */
  readonly joined: number;
}

/** Returns the waves of a plan with the members of now: one that has left is in none, one that has joined is in the last. */
export function currentWaves<T extends { readonly assetUuid: string }>(
  { waves }: Pick<StoredPlan, "waves">,
  members: readonly T[],
): CurrentWaves<T> {
  const remaining = new Map(members.map((member) => [member.assetUuid, member]));
  const planned = waves.map((wave) =>
    wave.flatMap((uuid): T[] => {
      const member = remaining.get(uuid);
      remaining.delete(uuid);
      return member ? [member] : [];
    }),
  );
  const kept = planned.reduce((total, wave) => total + wave.length, 0);
  const left = waves.reduce((total, wave) => total + wave.length, 0) - kept;
  return {
    waves: [...planned.slice(0, -1), [...(planned.at(-1) ?? []), ...remaining.values()]],
    left,
    joined: remaining.size,
  };
}

/**
 * Returns which of the targets that want to begin do so now, in their order: as many as there are free places, of the waves that
 * were entered, and none unless the rollout runs or goes back.
 *
 * First come earlier waves, then targets that were tried less often, then those that have waited longest.
 *
 * Fewer are not admitted because a stop is near: with `max_parallel` 50, up to 50 devices get a bad revision before the first
 * failure can stop it. The limit of a wave is what bounds that.
 *
 * @param counts of all targets of the rollout, as they are stored
 */
export function admit(
  rollout: Pick<Rollout, "kind" | "state" | "wave" | "strategy" | "acceptedFailures">,
  wanting: readonly Target[],
  counts: readonly TargetCount[],
): readonly Target[] {
  const free = rollout.strategy.max_parallel - placesTaken(rollout, counts);
  if (free <= 0) return [];
  return wanting
    .filter((target) => mayBegin(rollout, target))
    .toSorted(compareTargets)
    .slice(0, free);
}

function mayBegin({ state, wave }: Pick<Rollout, "state" | "wave">, target: Target): boolean {
  if (state === "rolling_back") return target.direction === "back";
  return state === "running" && target.direction === "forward" && target.wave <= wave;
}

function compareTargets(one: Target, other: Target): number {
  return (
    one.wave - other.wave ||
    one.attempt - other.attempt ||
    one.sinceMs - other.sinceMs ||
    (one.assetUuid < other.assetUuid ? -1 : 1)
  );
}
