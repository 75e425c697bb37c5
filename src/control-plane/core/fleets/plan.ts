import type { RolloutStrategy } from "../../../protocol/rollout-strategy.ts";
import type { Person } from "./fleet.ts";

/** How long a plan can be started, in milliseconds. */
export const PLAN_LIFETIME_MS = 7 * 24 * 3_600_000;

/** Plans of one account that are kept. Another one takes the place of the oldest. */
export const MAX_PLANS = 20;

/** What a rollout would bring to which assets, as people have seen it: a rollout that is made from it has the same waves. */
export interface Plan {
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
export interface CurrentWaves<T> {
  readonly waves: readonly (readonly T[])[];
  /** Number of members of the plan that are none any more. */
  readonly left: number;
  /** Number of members that the plan does not have. They are in the last wave. */
  readonly joined: number;
}

/** Returns the waves of a plan with the members of now: who has left is in none, who has joined is in the last. */
export function currentWaves<T extends { readonly assetUuid: string }>(
  { waves }: Pick<Plan, "waves">,
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
