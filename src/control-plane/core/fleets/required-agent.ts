import { compareVersions } from "../../../protocol/agents/version-order.ts";
import type { AgentUpdate } from "../../../protocol/agents/agent-update.ts";
import type { Goal, RequiredAgent } from "./fleet.ts";
import type { Rollout } from "./rollout.ts";

/*
 * What a revision asks of the agent itself. It is a minimum: nothing of a fleet brings an older version, so that two fleets never
 * fight over a device's agent, and going back leaves it.
 */

/** What an attempt brings to a device: the agent comes first, since the apps of a revision may need it. */
export type AttemptPart = "agent" | "apps";

/** Whether the device has an older agent than the goal asks for. @param running `undefined`: not known, as of a device that was never there */
export function needsAgent({ agent }: Pick<Goal, "agent">, running: string | undefined): boolean {
  return agent !== undefined && (running === undefined || compareVersions(running, agent.version) < 0);
}

/** Returns what the next attempt brings; `undefined`: nothing is left to bring. */
export function nextPart(goal: Pick<Goal, "agent" | "apps">, running: string | undefined): AttemptPart | undefined {
  if (needsAgent(goal, running)) return "agent";
  return goal.apps.length > 0 ? "apps" : undefined;
}

/**
 * Returns the request that updates the agent of a device. A retry of a rollout asks for a release also where the device has set it
 * aside; otherwise a device tries none again.
 */
export function agentRequest({ version, served }: RequiredAgent, { retryOf }: Pick<Rollout, "retryOf">): AgentUpdate {
  return { version, served, ...(retryOf !== undefined && { again: true }) };
}
