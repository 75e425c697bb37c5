import { withoutAppOutput } from "../core/app/secrets.ts";
import type { Activity, AppFacts } from "../local/api.ts";

/*
 * What the support bundle contains of an app's output. The output may contain values of the app's environment. The
 * bundle masks those on record, so it leaves out output that may contain others.
 */

const LEFT_OUT = "left out: the values of the app's environment, which it may contain, cannot be read by this user";

/** Removes what an event quotes: it may contain values of a version that is not on record any more. */
export function withoutQuotes(activity: Activity): Activity {
  return activity.kind === "event" ? quoteless(activity) : activity;
}

/**
 * Removes what the facts about an app contain of its output and cannot be masked.
 *
 * @param areValuesKnown whether the values of the app's environment are masked afterwards
 */
export function withoutUnmaskableOutput(facts: AppFacts, areValuesKnown: boolean): AppFacts {
  const { last_deployment: last, container, log } = facts;
  const quotes =
    last?.kind === "deployment" ? { last_deployment: { ...last, events: last.events.map(quoteless) } } : {};
  if (areValuesKnown) return { ...facts, ...quotes };
  return {
    ...facts,
    ...quotes,
    container: container && { ...container, health_output: container.health_output && LEFT_OUT },
    log: log.length > 0 ? [LEFT_OUT] : [],
  };
}

function quoteless<T extends { readonly details?: Record<string, unknown> }>(event: T): T {
  return event.details ? { ...event, details: withoutAppOutput(event.details) } : event;
}
