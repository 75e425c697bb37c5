import type { StepContext, StepResult } from "./context.ts";
import { NOTHING_CREATED } from "./observe.ts";

/** Fetches the contents of files that the device does not have. Precondition: the checks passed, and the cost is within the limits. */
export async function runFetch(
  context: Pick<StepContext, "fileFetcher" | "record" | "emit" | "signal">,
): Promise<StepResult> {
  const events = await context.fileFetcher.fetch(context);
  return { record: { fetches: undefined }, events, observed: NOTHING_CREATED };
}
