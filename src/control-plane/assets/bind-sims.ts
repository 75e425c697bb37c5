import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { type Asset, simTypes } from "../core/asset.ts";
import { isSameIccid } from "../core/sims/iccid.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { failureDetails } from "../sim-operator/explain-failure.ts";
import { type ObservedSim, SimOperatorError, toOperatorSim } from "../sim-operator/sim-operator.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";

export interface SimBinder {
  readonly sims: { readonly operators: SimOperators };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
}

/**
 * Returns a new asset with its SIMs as their operators have them. A SIM belongs to the account whose credentials at the operator can
 * see it: otherwise the account that types its number first would have its usage, and could switch it off. Errors: `SimUnknownToOperator`,
 * also where the operator knows another SIM by that number, and `SimOperatorFailed`.
 */
export async function bindSims(binder: SimBinder, asset: Asset): Promise<Asset> {
  let bound = asset;
  for (const type of simTypes(asset)) {
    const found = await findAtOperator(binder, asset, type);
    if (found) bound = withState(bound, found);
  }
  return bound;
}

/** Returns `undefined` where no operator serves this type. */
async function findAtOperator(
  { sims, clock, logger, stopping }: SimBinder,
  asset: Asset,
  type: SimType,
): Promise<ObservedSim | undefined> {
  const sim = toOperatorSim(asset, type);
  const operator = await sims.operators.find(asset.accountId, type);
  if (!sim || operator.usagePeriod === undefined) return undefined;
  const found = await callOperator(clock, stopping, (signal) => operator.findSim(sim, signal)).catch(
    (cause: unknown) => {
      if (!(cause instanceof SimOperatorError)) throw cause;
      logger.error({ err: cause, sim: type }, "SIM operator did not say whether it knows a SIM");
      const text = "The SIM operator did not say whether it knows the SIM; nothing was registered.";
      throw new EdgeError("SimOperatorFailed", text, { sim_type: type, ...failureDetails(cause) }, { cause });
    },
  );
  const isSame =
    found && isSameIccid(found.iccid, sim.iccid) && (found.operatorId ?? sim.operatorId) === sim.operatorId;
  if (!isSame) throw new EdgeError("SimUnknownToOperator", undefined, { sim_type: type });
  return found;
}

/** What the operator does not say, or this service does not know, is as it was asked for. */
function withState(asset: Asset, { type, status, networkGroup, serviceProfile }: ObservedSim): Asset {
  const { supersim, prosim } = asset;
  if (type === "supersim" && supersim) {
    const state = { status: status ?? supersim.status, networkGroup: networkGroup ?? supersim.networkGroup };
    return { ...asset, supersim: { ...supersim, ...state } };
  }
  if (type === "prosim" && prosim) {
    const state = { status: status ?? prosim.status, serviceProfile: serviceProfile ?? prosim.serviceProfile };
    return { ...asset, prosim: { ...prosim, ...state } };
  }
  return asset;
}
