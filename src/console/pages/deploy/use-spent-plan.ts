import { serverNow } from "../../api/reachability.ts";
import { useAllowance, useSims } from "../asset/sim-queries.ts";
import { useAsset } from "../asset/asset-queries.ts";
import { planState } from "../sims/allowance-words.ts";
import { SIM_TYPES } from "../sims/sim-words.ts";
import { usePlanSettings } from "../sims/plan-settings.tsx";
import { monthStart } from "../asset/usage-days.ts";
import type { SpentPlan } from "./spent-plan.ts";

/** The data plan that stands in the way of deployments to the asset; `undefined`: none, or it is not known yet. */
export function useSpentPlan(assetId: string): SpentPlan | undefined {
  // Of most assets nothing more has to be asked for.
  const isShort = useAsset(assetId).data?.attention.includes("data") === true;
  const effect = usePlanSettings(isShort).data?.deployments;
  const isAsked = isShort && effect !== undefined && effect !== "ignore";
  const sims = useSims(assetId, isAsked).data?.sims ?? [];
  const active = SIM_TYPES.filter((type) => sims.some((sim) => sim.type === type && sim.status === "active"));
  const supersim = useAllowance(assetId, "supersim", active.includes("supersim")).data;
  const prosim = useAllowance(assetId, "prosim", active.includes("prosim")).data;
  const allowances = { supersim, prosim };
  const type = active.find((each) => {
    const allowance = allowances[each];
    return allowance && planState(allowance) === "spent";
  });
  if (!isAsked || type === undefined) return undefined;
  return { effect, type, until: monthStart(serverNow() / 1000, 1) };
}
