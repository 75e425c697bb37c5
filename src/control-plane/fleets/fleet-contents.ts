import { type Fleet, type Goal, goalOf, ownedContent, type RevisionContent } from "../core/fleets/fleet.ts";
import type { Direction, Rollout } from "../core/fleets/rollout.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { FleetStore } from "../store/fleets.ts";
import { openContent } from "./revision-content.ts";

/** What the members of a fleet are to run in a rollout, in both directions. */
export interface RolloutContents {
  readonly goals: Readonly<Record<Direction, Goal>>;
  /** The content of the new revision and of the one before; `undefined`: there is none. */
  readonly revisions: readonly (RevisionContent | undefined)[];
}

/** Reads what a rollout brings to assets, of the apps that the fleet owns. Throws if a revision is missing or cannot be opened. */
export async function readContents(
  store: Pick<FleetStore, "findRevision">,
  sealer: Sealer,
  fleet: Fleet,
  { revision, previousRevision }: Pick<Rollout, "revision" | "previousRevision">,
): Promise<RolloutContents> {
  const forward = await readRevision(store, sealer, fleet, revision);
  const back = previousRevision === undefined ? undefined : await readRevision(store, sealer, fleet, previousRevision);
  return {
    goals: {
      forward: goalOf(fleet.name, revision, forward),
      back: goalOf(fleet.name, previousRevision, back, forward),
    },
    revisions: [forward, back],
  };
}

async function readRevision(
  store: Pick<FleetStore, "findRevision">,
  sealer: Sealer,
  fleet: Fleet,
  number: number,
): Promise<RevisionContent> {
  const stored = await store.findRevision(fleet.id, number);
  if (!stored) throw new Error(`revision ${number} of fleet ${fleet.id} is not on record`);
  return ownedContent(fleet, openContent(sealer, stored));
}
