import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { auditEntry } from "../audit/audit-entry.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { isUnfinished } from "../core/fleets/counts.ts";
import { newTarget } from "../core/fleets/new-target.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { MemberState } from "../store/fleets.ts";
import { StaleRolloutError } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import type { Requester } from "./make-revision.ts";
import { newUpkeep } from "./new-upkeep.ts";
import { termsOf } from "./plan-rollout.ts";
import { rolloutEvent } from "./rollout-events.ts";

const MEMBERS_AT_ONCE = 500;
const MAX_TRIES = 5;

type Options = { readonly store: Pick<Store, "fleets" | "rollouts" | "audit">; readonly clock: Clock };

/**
 * Has the fleet's upkeep put members right that do not run the stable revision. Returns how many they are. Errors:
 * `RevisionNotFound` if the fleet has no stable revision yet, `ServiceUnavailable` if others change the upkeep all the time.
 *
 * @param assetUuids only these; `undefined`: all members
 */
export async function reapply(
  { store, clock }: Options,
  fleet: Fleet,
  assetUuids: ReadonlySet<string> | undefined,
  { origin }: Requester,
): Promise<number> {
  if (fleet.stableRevision === undefined) {
    throw new EdgeError("RevisionNotFound", "The fleet has no stable revision yet: no rollout of it has succeeded.");
  }
  let assets = 0;
  for (let after: string | undefined; ;) {
    const page = await store.fleets.listMembers(fleet, termsOf(fleet), MEMBERS_AT_ONCE, after);
    const wrong = page.filter((member) => isWrong(fleet, member) && (assetUuids?.has(member.assetUuid) ?? true));
    for (const { assetUuid } of wrong) await addTarget({ store, clock }, fleet, assetUuid);
    assets += wrong.length;
    if (page.length < MEMBERS_AT_ONCE) break;
    after = page.at(-1)?.assetUuid;
  }
  const subject = { kind: "fleet", id: fleet.id, name: fleet.name };
  await store.audit.addEntry(auditEntry(origin, clock, { action: "fleet.reapplied", subject, details: { assets } }));
  return assets;
}

function isWrong({ stableRevision }: Fleet, { revision, conflict }: MemberState): boolean {
  return revision !== stableRevision && conflict === undefined;
}

/** Writes with the coordinator's own fence: each change names what it changes, so that the two do not overwrite each other. */
async function addTarget({ store, clock }: Options, fleet: Fleet, assetUuid: string): Promise<void> {
  const { rollouts } = store;
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const { id: rolloutId, epoch } = await findUpkeep({ store, clock }, fleet);
    const fence = { rolloutId, epoch };
    const before = await rollouts.findTarget(rolloutId, assetUuid);
    if (before && isUnfinished(before)) return;
    const target = newTarget(rolloutId, assetUuid, 0, clock.now());
    try {
      if (!before) {
        await rollouts.addTargets(fence, [target]);
        return;
      }
      // Attempts go on being counted, since their numbers identify deployments.
      const changed = await rollouts.changeTargets(fence, [{ before, after: { ...target, attempt: before.attempt } }]);
      if (changed.has(assetUuid)) return;
    } catch (error) {
      // The rollout was taken up by another coordinator.
      if (!(error instanceof StaleRolloutError)) throw error;
    }
  }
  throw new EdgeError("ServiceUnavailable", "The fleet is changed by others all the time.");
}

async function findUpkeep({ store: { rollouts }, clock }: Options, fleet: Fleet): Promise<Rollout> {
  const found = await rollouts.findUpkeep(fleet.id);
  if (found) return found;
  const upkeep = newUpkeep(fleet, clock.now());
  const event = rolloutEvent(upkeep, [], clock.now());
  if (!(await rollouts.createRollout(upkeep, [], event, () => ({ fields: {} })))) throw new EdgeError("FleetNotFound");
  return (await rollouts.findUpkeep(fleet.id)) ?? upkeep;
}
