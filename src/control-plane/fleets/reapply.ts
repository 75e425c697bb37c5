import type { Clock } from "../../lib/clock.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { MAX_LISTED_REAPPLIED, type ReapplyRequest } from "../../protocol/fleets/fleet.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { termsOfSelector } from "../core/selector-terms.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { isUnfinished } from "../core/fleets/progress.ts";
import { againAfter, newTarget, type Rollout } from "../core/fleets/rollout.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { MemberState } from "../store/fleets.ts";
import { StaleRolloutError } from "../store/rollouts.ts";
import type { Store } from "../store/store.ts";
import type { Requester } from "./make-revision.ts";
import { newUpkeep } from "./new-upkeep.ts";
import { rolloutEvent } from "./rollout-events.ts";

const MEMBERS_AT_ONCE = 500;
const MAX_TRIES = 5;
/** Apps that are started at the same time, and how long their devices may take to connect. */
const MAX_STARTS = 50;
const START_WAIT_S = 3_600;

interface UpkeepOptions {
  readonly store: Pick<Store, "fleets" | "rollouts">;
  readonly clock: Clock;
}

export interface ReapplyOptions extends UpkeepOptions {
  readonly store: Pick<Store, "fleets" | "rollouts" | "audit" | "assets">;
  readonly deployments: Pick<Deployments, "request">;
}

export interface ReapplyInput extends ReapplyRequest {
  /** Changes nothing. */
  readonly dryRun: boolean;
}

/** The members that are put right. */
export interface Reapplied {
  readonly assets: number;
  /** The first of them. */
  readonly members: readonly MemberState[];
}

/**
 * Has the fleet's upkeep put members right that were judged to be in one of these states, and starts what people have stopped if that
 * was asked for. Errors: `RevisionNotFound` if the fleet has no stable revision yet, `ServiceUnavailable` if others change the
 * upkeep all the time.
 */
export async function reapply(
  options: ReapplyOptions,
  fleet: Fleet,
  { asset_ids: ids, states, dryRun }: ReapplyInput,
  requester: Requester,
): Promise<Reapplied> {
  const { store, clock } = options;
  if (fleet.stableRevision === undefined) {
    throw new EdgeError("RevisionNotFound", "The fleet has no stable revision yet: no rollout of it has succeeded.");
  }
  const wanted = ids && new Set(ids);
  const members: MemberState[] = [];
  let assets = 0;
  for (let after: string | undefined; ;) {
    const page = await store.fleets.listMembers(fleet, termsOfSelector(fleet.selector), MEMBERS_AT_ONCE, after, states);
    const chosen = page.filter(({ assetUuid }) => wanted?.has(assetUuid) ?? true);
    if (!dryRun) await putRight(options, fleet, chosen, requester);
    assets += chosen.length;
    members.push(...chosen.slice(0, MAX_LISTED_REAPPLIED - members.length));
    if (page.length < MEMBERS_AT_ONCE) break;
    after = page.at(-1)?.assetUuid;
  }
  if (!dryRun) {
    const subject = { kind: "fleet", id: fleet.id, name: fleet.name };
    const entry = { action: "fleet.reapplied", subject, details: { assets } } as const;
    await store.audit.addEntry(auditEntry(requester.origin, clock, entry));
  }
  return { assets, members };
}

async function putRight(
  options: ReapplyOptions,
  fleet: Fleet,
  members: readonly MemberState[],
  { origin }: Requester,
): Promise<void> {
  const places = new Semaphore(MAX_STARTS);
  const starts = members.flatMap(({ assetUuid, judgement }) =>
    (judgement?.differences ?? []).filter(({ kind }) => kind === "stopped").map(({ app }) => ({ assetUuid, app })),
  );
  // An apply leaves stopped apps stopped.
  await Promise.all(
    starts.map(async ({ assetUuid, app }) => {
      using _place = await places.acquire();
      const asset = await options.store.assets.findAssetByUuid(assetUuid);
      const command = {
        command: { action: "start", spec: null },
        app,
        options: {},
        waitForDeviceS: START_WAIT_S,
      } as const;
      if (asset) await options.deployments.request(asset, command, origin);
    }),
  );
  for (const { assetUuid, judgement } of members) {
    if (judgement?.differences.every(({ kind }) => kind === "stopped") !== true)
      await addUpkeepTarget(options, fleet, assetUuid);
  }
}

/** Has the fleet's upkeep bring its stable revision to a member again, unless it is about to. */
export async function addUpkeepTarget({ store, clock }: UpkeepOptions, fleet: Fleet, assetUuid: string): Promise<void> {
  const { rollouts } = store;
  // With the coordinator's own fence: each change names what it changes, so that the two do not overwrite each other.
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
      // Attempts go on being counted: past ones are on record by their numbers.
      const changed = await rollouts.changeTargets(fence, [{ before, after: againAfter(target, before) }]);
      if (changed.has(assetUuid)) return;
    } catch (error) {
      // The rollout was taken up by another coordinator.
      if (!(error instanceof StaleRolloutError)) throw error;
    }
  }
  throw new EdgeError("ServiceUnavailable", "The fleet is changed by others all the time.");
}

async function findUpkeep({ store: { rollouts }, clock }: UpkeepOptions, fleet: Fleet): Promise<Rollout> {
  const found = await rollouts.findUpkeep(fleet.id);
  if (found) return found;
  const upkeep = newUpkeep(fleet, clock.now());
  const event = rolloutEvent(upkeep, [], clock.now());
  if (!(await rollouts.createRollout(upkeep, [], event, () => ({ fields: {} })))) throw new EdgeError("FleetNotFound");
  return (await rollouts.findUpkeep(fleet.id)) ?? upkeep;
}
