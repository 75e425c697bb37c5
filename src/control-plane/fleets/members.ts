import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import { againAfter, lateTarget, type Rollout, type Target } from "../core/fleets/rollout.ts";
import { needsUpkeep } from "../core/fleets/upkeep.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { RolloutFence } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";

const PAGE = 500;
/** Among these is one of all members, unless as many retries follow each other. */
const LATEST_ROLLOUTS = 20;

/** What the members of a fleet are compared with the targets of a rollout for. */
export interface MembersInput {
  readonly store: Pick<Store, "fleets" | "rollouts">;
  readonly fence: RolloutFence;
  readonly fleet: Fleet;
  readonly selector: readonly SelectorTerm[];
  readonly rollout: Rollout;
  readonly nowMs: number;
}

/**
 * Adds targets for members that joined: to a rollout all of them, to the upkeep those that it has to serve. Returns how many
 * targets were added.
 */
export function syncMembers(input: MembersInput): Promise<number> {
  return input.rollout.kind === "upkeep" ? addToUpkeep(input) : addJoined(input);
}

async function addJoined({ store, fence, fleet, selector, rollout, nowMs }: MembersInput): Promise<number> {
  if (rollout.retryOf !== undefined) return 0;
  let added = 0;
  for (let after: string | undefined; ;) {
    const page = await store.fleets.listMatching(fleet.accountId, selector, PAGE, after);
    const uuids = page.map(({ assetUuid }) => assetUuid);
    const joined = await store.rollouts.findMissing(rollout.id, uuids);
    const targets = joined.map((uuid) => lateTarget(rollout, uuid, nowMs));
    if (targets.length > 0) added += await store.rollouts.addTargets(fence, targets);
    if (page.length < PAGE) return added;
    after = uuids.at(-1);
  }
}

async function addToUpkeep(input: MembersInput): Promise<number> {
  const { store, fleet } = input;
  const latest = await store.rollouts.listRollouts(fleet.id, LATEST_ROLLOUTS);
  // What a retry takes, the rollout before has failed on.
  const newest = latest.find(({ retryOf }) => retryOf === undefined);
  let added = 0;
  for await (const { assetUuid, memberRevision } of candidates(input, newest)) {
    const target = newest && (await store.rollouts.findTarget(newest.id, assetUuid));
    const served = await store.rollouts.findTarget(input.rollout.id, assetUuid);
    const reason = needsUpkeep({
      fleet,
      rollout: newest,
      target,
      // Targets of an earlier stable revision are removed when another one follows.
      served: served && { state: served.state, revision: input.rollout.revision },
      memberRevision,
    });
    if (reason !== undefined) added += await addOne(input, served, assetUuid);
  }
  return added;
}

async function addOne({ store, fence, rollout, nowMs }: MembersInput, served: Target | undefined, assetUuid: string) {
  const target = { ...lateTarget(rollout, assetUuid, nowMs), dueMs: nowMs };
  if (!served) return store.rollouts.addTargets(fence, [target]);
  // It was skipped before, such as because it had left the fleet.
  return (await store.rollouts.changeTargets(fence, [{ before: served, after: againAfter(target, served) }])).size;
}

/** Yields members that no rollout has brought a revision to, and those that the last one ended without. */
async function* candidates({ store, fleet, selector }: MembersInput, newest: Rollout | undefined) {
  for (let after: string | undefined; ;) {
    const page = await store.fleets.listMembers(fleet, selector, PAGE, after);
    for (const { assetUuid, revision } of page)
      if (revision === undefined) yield { assetUuid, memberRevision: undefined };
    if (page.length < PAGE) break;
    after = page.at(-1)?.assetUuid;
  }
  if (!newest) return;
  for (let after: string | undefined; ;) {
    const filter = { states: ["deferred", "lost"] as const, ...(after !== undefined && { after }) };
    const page = await store.rollouts.listTargets(newest.id, PAGE, filter);
    const uuids = page.map(({ assetUuid }) => assetUuid);
    const revisions = await store.fleets.findMemberRevisions(fleet.id, uuids);
    for (const assetUuid of uuids) {
      const memberRevision = revisions.get(assetUuid);
      if (memberRevision !== undefined) yield { assetUuid, memberRevision };
    }
    if (page.length < PAGE) return;
    after = uuids.at(-1);
  }
}
