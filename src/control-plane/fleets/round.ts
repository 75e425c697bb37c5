import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { FactsScope, RolloutFence } from "../store/rollouts.ts";
import type { RolloutContents } from "./fleet-contents.ts";
import type { WindowCache } from "./window-cache.ts";

/** What one round works with. */
export interface Round {
  readonly fence: RolloutFence;
  readonly rollout: Rollout;
  readonly fleet: Fleet;
  readonly contents: RolloutContents;
  readonly selector: readonly SelectorTerm[];
  readonly scope: FactsScope;
  readonly nowMs: number;
  readonly windows: WindowCache;
}
