import { formatUtcTime } from "../../parts/durations.ts";
import { SIM_NAMES, type SimType } from "../sims/sim-words.ts";

/** A SIM's allowance that is used up, and what becomes of deployments because of that. */
export interface SpentPlan {
  readonly effect: "wait" | "urgent";
  readonly type: SimType;
  /** End of the month, in Unix seconds. */
  readonly until: number;
}

/** What the allowance does to a deployment, in two sentences. */
export function spentPlanText(
  { effect, type, until }: SpentPlan,
  isUrgent: boolean,
): { readonly title: string; readonly text: string } {
  const title = `The monthly allowance of the ${SIM_NAMES[type]} is used up.`;
  if (isUrgent) return { title, text: "It is carried out all the same, since it is urgent." };
  const time = formatUtcTime(until);
  const otherwise = "To carry it out now, mark it as urgent below “How it is carried out”.";
  if (effect === "urgent") return { title, text: `It would be refused until ${time}. ${otherwise}` };
  return { title, text: `It would wait until ${time}, or until the allowance is larger. ${otherwise}` };
}
