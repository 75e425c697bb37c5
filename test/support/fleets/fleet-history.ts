import type { TargetState } from "../../../src/protocol/fleets/rollout.ts";
import { isRolloutOver } from "../../../src/protocol/fleets/rollout-over.ts";
import { advance, cancel, pause, resume, rollBack } from "../../../src/control-plane/core/fleets/rollout-commands.ts";
import { SeededRandom } from "../chaos/seeded-random.ts";
import { Violation } from "./fleet-checks.ts";
import { ModelFleet } from "./model-fleet.ts";
import { randomStrategy } from "./model-rollout.ts";

const SOMEBODY = { kind: "user", id: "usr_1" } as const;
const STEPS = 120;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Steps after the last fault in which every rollout has to end. */
const MAX_CALM_STEPS = 6_000;

/** Plays one random history and checks it. Throws a `Violation`. Returns how many targets reached their goal. */
export function playHistory(seed: number): { readonly fleet: ModelFleet; readonly successes: number } {
  const random = new SeededRandom(seed);
  const fleet = new ModelFleet(random, {
    devices: random.between(0, 9),
    strategy: randomStrategy(random),
    losesEvents: random.chance(0.4),
  });
  fleet.startRollout();
  for (let step = 0; step < STEPS; step++) {
    trouble(fleet, random);
    fleet.coordinate();
    fleet.advance(random.pick([1_000, MINUTE_MS, 10 * MINUTE_MS, DAY_MS, 20 * DAY_MS]));
    fleet.coordinate();
  }
  calm(fleet, random);
  return { fleet, successes: fleet.checks.successes };
}

function trouble(fleet: ModelFleet, random: SeededRandom): void {
  if (random.chance(0.25)) return command(fleet, random);
  if (random.chance(0.1)) fleet.crash();
  const devices = [...fleet.devices.values()];
  if (devices.length === 0) return;
  const device = random.pick(devices);
  const now = fleet.nowMs;
  switch (random.between(0, 12)) {
    case 0:
    case 1:
      return device.disconnect(now, random.between(1, 60) * random.pick([1_000, MINUTE_MS, DAY_MS]));
    case 2:
      return device.connect(now);
    case 3:
    case 4:
      return device.restart(now, random.chance(0.5));
    case 5:
      return device.restart(now, true);
    case 6:
      return device.changeByHand(now, random.chance(0.5) ? { isChanged: true } : { isStopped: true });
    case 7:
      return device.change({ heldUntilMs: random.chance(0.2) ? Infinity : now + random.between(1, 5 * DAY_MS) });
    case 8:
      device.reportsHeldUntilMs = now + random.between(1, 2 * DAY_MS);
      return device.sendReport(now);
    case 9:
      return device.change({ hasConflict: random.chance(0.3) });
    case 10:
      return device.change({ isMissingVariables: random.chance(0.1) });
    case 11:
      return device.changeAgent(now, random.between(1, 8));
    default:
      return device.change({ isMember: !random.chance(0.1) });
  }
}

function command(fleet: ModelFleet, random: SeededRandom): void {
  const rollout = fleet.newest;
  if (!rollout) return;
  const now = fleet.nowMs;
  switch (random.between(0, 11)) {
    case 0:
    case 1:
      return fleet.command(rollout, (record) => pause(record, "Paused by somebody.", SOMEBODY));
    case 2:
    case 3:
    case 4:
    case 5:
      return fleet.command(rollout, (record, counts) => resume(record, counts, now));
    case 6:
    case 7:
      return fleet.command(rollout, (record) => advance(record));
    case 8:
      if (random.chance(0.3)) fleet.command(rollout, (record) => cancel(record, "Cancelled by somebody.", now));
      return;
    case 9:
      if (random.chance(0.3))
        fleet.command(rollout, (record) => rollBack(record, "Rolled back by somebody.", SOMEBODY));
      return;
    default:
      if (random.chance(0.4) || isRolloutOver(rollout.record)) fleet.startRollout(randomStrategy(random));
  }
}

/** Faults stop, devices return and people let the rollouts go on: every one must end, and every member with it. */
function calm(fleet: ModelFleet, random: SeededRandom): void {
  fleet.hasFaults = false;
  fleet.crash();
  for (const device of fleet.devices.values()) {
    device.connect(fleet.nowMs);
    device.heldUntilMs = undefined;
    device.reportsHeldUntilMs = undefined;
    device.hasConflict = false;
    device.isMissingVariables = false;
    device.isZoneKnown = true;
    device.isUp = true;
    device.sendReport(fleet.nowMs);
  }
  for (let step = 0; step < MAX_CALM_STEPS; step++) {
    fleet.coordinate();
    if (fleet.isAtRest) return expectEverybodyEnded(fleet);
    const newest = fleet.newest;
    if (newest?.record.state === "paused")
      fleet.command(newest, (record, counts) => resume(record, counts, fleet.nowMs));
    if (newest?.record.state === "running" && random.chance(0.2)) fleet.command(newest, (record) => advance(record));
    fleet.advance(DAY_MS);
  }
  const active = [...fleet.rollouts.values()].filter(({ record }) => record.isActive);
  const open = active.flatMap(({ targets }) => [...targets.values()]).filter(({ state }) => isOpen(state));
  throw new Violation("ends", `not everything ends: ${JSON.stringify([active.map(({ record }) => record), open])}`);
}

function expectEverybodyEnded(fleet: ModelFleet): void {
  for (const { record, targets } of fleet.rollouts.values()) {
    for (const target of targets.values()) {
      if (isOpen(target.state)) {
        throw new Violation("ends", `${record.state} with ${JSON.stringify(target)}`);
      }
      if (target.dueMs !== undefined && target.state !== "deferred")
        throw new Violation("ends", `due: ${JSON.stringify(target)}`);
    }
  }
}

function isOpen(state: TargetState): boolean {
  return state === "pending" || state === "waiting" || state === "deploying" || state === "soaking";
}
