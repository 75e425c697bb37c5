import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import type { Request } from "./request.ts";
import type { ChaosSystem } from "./chaos-system.ts";
import type { RegistryGate } from "./registry-gate.ts";

/** When one of the two processes is killed: at the n-th call or frame after the request. */
export interface KillPoint {
  readonly victim: "agent" | "control";
  /** Counts the agent's calls to the engine or to the registry, or frames in both directions. */
  readonly counted: "engine call" | "frame" | "registry request";
  readonly number: number;
  /** `after`: the call is done, but its response is lost. `during`: half of the registry's response has arrived. */
  readonly phase: "before" | "after" | "during";
}

const PHASES = ["before", "after"] as const;

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Every kill point up to the given numbers, which must exceed those of a deployment. */
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

/** Every kill point of an agent that pulls an image, up to the given numbers. */
export function pullKillPoints(calls: number, requests: number): KillPoint[] {
  const onCalls = killPoints(calls, 0);
  const onRequests = numbers(requests).flatMap((number) =>
    ([...PHASES, "during"] as const).map((phase): KillPoint => ({
      victim: "agent",
      counted: "registry request",
      number,
      phase,
    })),
  );
  return [...onCalls, ...onRequests];
}

/** The outcome of `requestAndKill`. */
export interface KillResult {
  /** Whether the point was reached before the deployment ended. */
  readonly wasReached: boolean;
  readonly final: DeploymentEvent;
}

/** Sends the request, kills the process at the point, restarts it, and waits for the deployment's end. */
export async function requestAndKill(
  system: ChaosSystem,
  request: Request,
  point: KillPoint,
  registry?: RegistryGate,
): Promise<KillResult> {
  let left = point.number;
  let killing: Promise<unknown> = Promise.resolve();
  const reached = Promise.withResolvers<true>();
  const victim = system[point.victim];
  const passes = async (phase: KillPoint["phase"]): Promise<boolean> => {
    if (phase !== point.phase || --left !== 0) return true;
    killing = victim.kill();
    await killing;
    reached.resolve(true);
    return false;
  };
  if (point.counted === "registry request") registry?.intercept(({ phase }) => passes(phase));
  else if (point.counted === "frame") system.link.onFrame = async ({ phase }) => void (await passes(phase));
  else system.proxy.intercept(async ({ phase }) => ((await passes(phase)) ? "pass" : "cut"));
  const client = system.request(request);
  const wasReached = await Promise.race([reached.promise, client.finished.then(() => false)]);
  // The final event may be sent at the kill point itself: wait for the process's exit before the restart.
  left = 0;
  await killing;
  registry?.intercept();
  await system.clearFaults();
  return { wasReached, final: await client.finished };
}

/** A short text for a table. */
export function describePoint({ victim, counted, phase, number }: KillPoint): string {
  return `${victim} ${phase} ${counted} ${number}`;
}
