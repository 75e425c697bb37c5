import type { DeploymentEvent } from "../../../src/protocol/deployment-event.ts";
import type { Request } from "./request.ts";
import type { ChaosSystem } from "./chaos-system.ts";

/** A moment at which one of the two processes is killed: the n-th call or frame since the deployment was asked for. */
export interface KillPoint {
  readonly victim: "agent" | "control";
  /** What is counted: calls of the agent to the engine, or frames in either direction. */
  readonly counted: "engine call" | "frame";
  readonly number: number;
  /** A call `after` which it dies is done, with its answer lost. */
  readonly phase: "before" | "after";
}

const PHASES = ["before", "after"] as const;

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Every point up to the given numbers, which are higher than those a deployment takes. */
export function killPoints(calls: number, frames: number): KillPoint[] {
  const onCalls = numbers(calls).flatMap((number) =>
    PHASES.map((phase): KillPoint => ({ victim: "agent", counted: "engine call", number, phase })),
  );
  const onFrames = numbers(frames).flatMap((number) =>
    (["agent", "control"] as const).flatMap((victim) =>
      PHASES.map((phase): KillPoint => ({ victim, counted: "frame", number, phase })),
    ),
  );
  return [...onCalls, ...onFrames];
}

/** What came of it. */
export interface KillResult {
  /** Whether the point was reached before the deployment ended. */
  readonly wasReached: boolean;
  readonly final: DeploymentEvent;
}

/** Makes the request, kills at the point, starts again what was killed, and waits for the deployment's end. */
export async function requestAndKill(world: ChaosSystem, request: Request, point: KillPoint): Promise<KillResult> {
  let left = point.number;
  let killing: Promise<unknown> = Promise.resolve();
  const struck = Promise.withResolvers<true>();
  const victim = world[point.victim];
  const passes = async (phase: KillPoint["phase"]): Promise<boolean> => {
    if (phase !== point.phase || --left !== 0) return true;
    killing = victim.kill();
    await killing;
    struck.resolve(true);
    return false;
  };
  if (point.counted === "frame") world.link.onFrame = async ({ phase }) => void (await passes(phase));
  else world.proxy.intercept(async ({ phase }) => ((await passes(phase)) ? "pass" : "cut"));
  const client = world.request(request);
  const wasStruck = await Promise.race([struck.promise, client.finished.then(() => false)]);
  // The end may have been told at the very point: what is being killed has to be dead before it is started again.
  left = 0;
  await killing;
  await world.clearFaults();
  return { wasReached: wasStruck, final: await client.finished };
}

/** Short, for a table. */
export function describePoint({ victim, counted, phase, number }: KillPoint): string {
  return `${victim} ${phase} ${counted} ${number}`;
}
