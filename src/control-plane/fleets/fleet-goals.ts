import type { Logger } from "../../lib/logger.ts";
import { termsOfSelector } from "../core/selector-terms.ts";
import { neededVariables } from "../core/fleets/attempt.ts";
import { type Fleet, goalOf, ownedContent } from "../core/fleets/fleet.ts";
import type { MemberGoal } from "../core/fleets/judge-member.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { Store } from "../store/store.ts";
import type { FleetScope } from "./judge-assets.ts";
import { openContent } from "./revision-content.ts";

/** Revisions of one fleet that are kept in memory. */
const MAX_GOALS = 16;

interface FleetEntry {
  /** What the goals follow from beside the revisions, which never change. */
  readonly key: string;
  /** `undefined`: it is not on record, or cannot be opened. */
  readonly goals: Map<number, MemberGoal | undefined>;
}

/** What the revisions of fleets say, opened once. */
export class FleetGoals {
  readonly #store: Pick<Store, "fleets">;
  readonly #sealer: Sealer;
  readonly #logger: Logger;
  readonly #fleets = new Map<string, FleetEntry>();

  constructor({ store, sealer, logger }: { store: Pick<Store, "fleets">; sealer: Sealer; logger: Logger }) {
    this.#store = store;
    this.#sealer = sealer;
    this.#logger = logger;
  }

  /** Returns what `work` returns, with the goals of all revisions that it asks for. `work` must be pure: it may run again. */
  async withGoals<T>(fleets: readonly Fleet[], work: (scopes: readonly FleetScope[]) => T): Promise<T> {
    const entries = new Map(fleets.map((fleet) => [fleet, this.#entryOf(fleet)]));
    const kept = new Set(fleets.map(({ id }) => id));
    for (const id of this.#fleets.keys()) if (!kept.has(id)) this.#fleets.delete(id);
    for (;;) {
      const asked: { readonly fleet: Fleet; readonly revision: number }[] = [];
      const scopes = [...entries].map(([fleet, { goals }]): FleetScope => {
        const find = (revision: number): MemberGoal | undefined => {
          if (!goals.has(revision)) asked.push({ fleet, revision });
          return goals.get(revision);
        };
        return { fleet, selector: termsOfSelector(fleet.selector), goalOf: find };
      });
      const result = work(scopes);
      if (asked.length === 0) return result;
      for (const { fleet, revision } of asked) {
        const goals = entries.get(fleet)?.goals;
        if (goals && !goals.has(revision)) goals.set(revision, await this.#read(fleet, revision));
      }
    }
  }

  #entryOf({ id, name, apps, lastRevision }: Fleet): FleetEntry {
    const key = JSON.stringify([name, apps, lastRevision]);
    const known = this.#fleets.get(id);
    if (known?.key === key && known.goals.size <= MAX_GOALS) return known;
    const entry = { key, goals: new Map() };
    this.#fleets.set(id, entry);
    return entry;
  }

  async #read(fleet: Fleet, revision: number): Promise<MemberGoal | undefined> {
    const stored = await this.#store.fleets.findRevision(fleet.id, revision);
    if (!stored) return undefined;
    try {
      const goal = goalOf(fleet.name, revision, ownedContent(fleet, openContent(this.#sealer, stored)));
      return { goal, variables: neededVariables(goal) };
    } catch (error) {
      this.#logger.error({ err: error, fleet_id: fleet.id, revision }, "cannot open a revision of a fleet");
      return undefined;
    }
  }
}
