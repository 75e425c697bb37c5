import { setTimeout as sleep } from "node:timers/promises";
import type { SeededRandom } from "../seeded-random.ts";
import type { ClusterChaos } from "./cluster-chaos.ts";

/** Longest time that the moment is waited for. */
const MOMENT_MS = 4_000;

/**
 * Kills an instance at a chunk between it and the database: `up`, so that the database does not get it, or `down`, so that
 * what was written is not answered. Returns whether the moment came.
 */
export async function killAtChunk(system: ClusterChaos, index: number, random: SeededRandom): Promise<boolean> {
  const { databaseLink } = system.instances.get(index);
  const direction = random.pick(["up", "down"] as const);
  const number = random.between(1, 120);
  system.history.add(`  chunk ${number} ${direction}`);
  let left = number;
  const reached = Promise.withResolvers<true>();
  databaseLink.onChunk = (actual) => {
    if (left <= 0) return false;
    if (actual !== direction || --left > 0) return true;
    system.instances.killNow(index);
    reached.resolve(true);
    return false;
  };
  return whenReached(system, index, reached.promise, () => (databaseLink.onChunk = undefined));
}

/** Kills an instance before or after a frame between it, or another one, and the agent. Returns whether the moment came. */
export async function killAtFrame(system: ClusterChaos, index: number, random: SeededRandom): Promise<boolean> {
  const phase = random.pick(["before", "after"] as const);
  const number = random.between(1, 12);
  system.history.add(`  ${phase} frame ${number}`);
  let left = number;
  const reached = Promise.withResolvers<true>();
  system.link.onFrame = async (frame) => {
    if (frame.phase !== phase || --left !== 0) return;
    await system.instances.kill(index);
    reached.resolve(true);
  };
  return whenReached(system, index, reached.promise, () => (system.link.onFrame = () => undefined));
}

async function whenReached(
  system: ClusterChaos,
  index: number,
  reached: Promise<true>,
  clear: () => void,
): Promise<boolean> {
  const wasReached = await Promise.race([reached, sleep(MOMENT_MS, false)]);
  clear();
  if (wasReached) await system.instances.get(index).exited();
  return wasReached;
}
