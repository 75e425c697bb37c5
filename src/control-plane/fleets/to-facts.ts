import { z } from "zod";
import {
  type DeploymentEvent,
  deploymentEventSchema,
  progressDetails,
} from "../../protocol/deployments/deployment-event.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { matchesSelector, type SelectorTerm } from "../../protocol/fleets/selector.ts";
import type { DeploymentFacts, TargetFacts } from "../core/fleets/target-decision.ts";
import type { StoredAttempt, TargetWithFacts } from "../store/rollouts.ts";
import { attemptMessage } from "./attempt-message.ts";

/** A device sends the last lines of an app's output as a list, at most 64 KiB with the event. */
const logsSchema = z.object({ logs: z.array(z.string()) });

/** What facts depend on besides what is stored of the asset. */
export interface FactsInput {
  readonly selector: readonly SelectorTerm[];
  /** Variables that the goal of the target needs. */
  readonly neededVariables: readonly string[];
}

/** Returns the facts about a target, from what was read of it. */
export function toFacts(read: TargetWithFacts, { selector, neededVariables }: FactsInput): TargetFacts {
  const { facts, deployment, assetType, tags, variableNames } = read;
  return {
    ...facts,
    isMember: matchesSelector(selector, { type: assetType, tags }),
    missingVariables: neededVariables.filter((name) => !variableNames.has(name)),
    deployment: deployment && toDeploymentFacts(deployment),
  };
}

function toDeploymentFacts({ lastEvent, ...rest }: StoredAttempt): DeploymentFacts {
  const event = lastEvent === undefined ? undefined : parseEvent(lastEvent);
  const waitingS = event?.status === "Running" && !isAtWork(event) ? progressDetails(event).waiting_s : undefined;
  return {
    ...rest,
    message: event && attemptMessage(event),
    putOffUntilMs: waitingS === undefined || !event ? undefined : (event.timestamp + waitingS) * 1000,
  };
}

/**
 * A device that tries a new version of its agent, or waits for an app to become healthy, says how long that may take. It has put nothing
 * off: its rollout awaits it, and it is lost after `lost_after_s` if it vanishes.
 */
function isAtWork({ step }: DeploymentEvent): boolean {
  return step === "starting" || step === "verifying";
}

/** Returns the last lines of an app's output that the last event of its deployment has; `undefined` if it has none. */
export function lastLines(lastEvent: string | undefined): string | undefined {
  const event = lastEvent === undefined ? undefined : parseEvent(lastEvent);
  const logs = logsSchema.safeParse(event?.details);
  return logs.success && logs.data.logs.length > 0 ? logs.data.logs.join("\n") : undefined;
}

/** An event that a later release has stored may not be valid: it says nothing then. */
function parseEvent(json: string): DeploymentEvent | undefined {
  const parsed = deploymentEventSchema.safeParse(parseJson(json, "frame"));
  return parsed.success ? parsed.data : undefined;
}
