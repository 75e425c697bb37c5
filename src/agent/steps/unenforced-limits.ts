import type { AppSpec } from "../../protocol/app-spec.ts";
import type { EventContent } from "../../protocol/deployment-event.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { StepContext } from "./context.ts";

/**
 * Says which limits of an app have no effect, since this kernel was started without what it takes: engines leave them
 * out without a word, and boards are often set up so.
 */
export async function limitsWithoutEffect(
  { engine, signal }: StepContext,
  { memory_limit, cpu_limit }: AppSpec,
): Promise<EventContent[]> {
  if (memory_limit === undefined && cpu_limit === undefined) return [];
  const { limits } = await engine.info(signal);
  const idle = [
    ...(memory_limit !== undefined && !limits.memory ? ["memory_limit"] : []),
    ...(cpu_limit !== undefined && !limits.cpu ? ["cpu_limit"] : []),
  ];
  return idle.map((field) =>
    runningEvent("checking", `This device's kernel was started without the means for it: ${field} has no effect.`),
  );
}
