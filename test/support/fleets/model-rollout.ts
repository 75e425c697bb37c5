import { type RolloutStrategy, rolloutStrategySchema } from "../../../src/protocol/fleets/rollout-strategy.ts";
import type { Direction, Rollout, Target, TargetCount } from "../../../src/control-plane/core/fleets/rollout.ts";
import type { Goal } from "../../../src/control-plane/core/fleets/fleet.ts";
import type { SeededRandom } from "../chaos/seeded-random.ts";
import type { Brought, Plan } from "./model-device.ts";

export interface ModelRollout {
  record: Rollout;
  /** The state of the rollout when all targets were looked at: in another one all of them are looked at again, once. */
  sweptState: Rollout["state"] | undefined;
  readonly targets: Map<string, Target>;
  readonly goals: Readonly<Record<Direction, Goal>>;
}

/** Counts the targets of a rollout as the store does. */
export function countsOf({ targets }: ModelRollout): readonly TargetCount[] {
  const groups = Map.groupBy(targets.values(), ({ wave, state, direction, waitsFor, wasAttempted }) =>
    JSON.stringify([wave, state, direction, waitsFor ?? null, wasAttempted]),
  );
  return [...groups.values()].flatMap((all) => {
    const [first] = all;
    if (!first) return [];
    const { wave, state, direction, waitsFor, wasAttempted } = first;
    return [{ wave, state, direction, waitsFor, wasAttempted, count: all.length }];
  });
}

/** Returns a strategy that differs from history to history. */
export function randomStrategy(random: SeededRandom): RolloutStrategy {
  const waves = Array.from({ length: random.between(0, 3) }, (_, index) => ({
    ...random.pick([
      { limit: index + 1 },
      { limit: `${20 * (index + 1)}%` },
      { limit: index + 2, by: "site" },
      { by: "site" },
    ]),
    soak_s: random.pick([0, 60, 3_600]),
    advance: random.chance(0.2) ? "manual" : "auto",
  }));
  return rolloutStrategySchema.parse({
    waves,
    soak_s: random.pick([0, 60, 3_600]),
    max_parallel: random.between(1, 4),
    stop_when: { failed: random.pick([1, 3, "20%", "100%"]), min_attempted: random.between(1, 4) },
    on_stop: random.chance(0.3) ? "rollback" : "pause",
    attempts: random.between(1, 3),
    offline_after_s: random.pick([600, 24 * 3_600, 7 * 24 * 3_600]),
    done_at: random.pick(["100%", "100%", "80%", "50%", 2]),
    refused: random.pick(["fail", "allow"]),
    lost_after_s: random.pick([60, 1_800]),
    windows: random.chance(0.2) ? [{ from: "00:00", to: "04:00", zone: "UTC" }] : [],
  });
}

const HOUR_MS = 3_600_000;

/** How updates of the agent fail. */
const AGENT_CODES = ["AgentUpdateFailed", "AgentPinned", "AgentUpdateInProgress", "NetworkUnavailable"] as const;

/** Returns what an attempt leads to. */
export function randomPlan(random: SeededRandom, { part }: Brought, hasFaults: boolean): Plan {
  const calm = {
    outcome: "success",
    durationMs: random.between(1, 60_000),
    putOffMs: 0,
    vanishesForMs: undefined,
  } as const;
  if (!hasFaults) return calm;
  const codes = [
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "PolicyDenied",
    "DeviceNotReachable",
    "ErrorDeploymentAlreadyExist",
  ] as const;
  return {
    outcome: random.chance(0.7) ? "success" : random.pick(part === "agent" ? AGENT_CODES : codes),
    durationMs: random.between(1, 300_000),
    putOffMs: random.chance(0.1) ? random.between(1, 48 * HOUR_MS) : 0,
    vanishesForMs: random.chance(0.15) ? random.between(1, 600) * random.pick([1_000, 60_000, HOUR_MS]) : undefined,
  };
}
