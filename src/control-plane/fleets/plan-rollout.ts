import { EdgeError } from "../../protocol/errors.ts";
import type { RolloutStrategy, RolloutStrategyUpdate } from "../../protocol/rollout-strategy.ts";
import { invalidRequest } from "../../protocol/request-error.ts";
import { updateStrategy } from "../../protocol/rollout-strategy.ts";
import { parseSelector, type SelectorTerm } from "../../protocol/selector.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { planWaves } from "../core/fleets/waves.ts";
import type { FleetStore, Member, StoredRevision } from "../store/fleets.ts";

const MEMBERS_AT_ONCE = 5_000;

/** What a rollout brings to whom. */
export interface RolloutPlan {
  readonly revision: StoredRevision;
  readonly strategy: RolloutStrategy;
  /** Members by wave; the last has all that are in no other. */
  readonly waves: readonly (readonly Member[])[];
}

/** Plans a rollout to those who are members now. Errors: `RevisionNotFound`, `InvalidRequest` if it has no app of the fleet. */
export async function planRollout(
  store: FleetStore,
  fleet: Fleet,
  rolloutId: string,
  request: { readonly revision?: number; readonly strategy?: RolloutStrategyUpdate },
): Promise<RolloutPlan> {
  const number = request.revision ?? fleet.lastRevision;
  const revision = number > 0 ? await store.findRevision(fleet.id, number) : undefined;
  if (!revision) throw new EdgeError("RevisionNotFound", undefined, { revision: number });
  if (!revision.revision.apps.some(({ name }) => fleet.apps.includes(name)))
    throw invalidRequest([{ path: "revision", reason: `revision ${number} has no app that the fleet owns` }]);
  const strategy = updateStrategy(fleet.strategy, request.strategy ?? {});
  const members = await listMembers(store, fleet);
  return { revision, strategy, waves: planWaves(rolloutId, strategy, members) };
}

/** Returns the terms of a selector that was validated when it was stored. */
export function termsOf({ selector }: Pick<Fleet, "selector">): readonly SelectorTerm[] {
  const parsed = parseSelector(selector);
  if (!parsed.ok) throw new Error(`the selector of a fleet is not valid: ${parsed.reason}`);
  return parsed.terms;
}

async function listMembers(store: FleetStore, fleet: Fleet): Promise<readonly Member[]> {
  const terms = termsOf(fleet);
  const members: Member[] = [];
  for (let after: string | undefined; ;) {
    const page = await store.listMatching(fleet.accountId, terms, MEMBERS_AT_ONCE, after);
    members.push(...page);
    if (page.length < MEMBERS_AT_ONCE) return members;
    after = page.at(-1)?.assetUuid;
  }
}
