import type { SimEntryBody } from "../../../protocol/sim-list.ts";
import { toPendingView } from "../../core/asset-view.ts";
import { toOperatorSim } from "../../sim-operator/sim-operator.ts";
import type { SimEntry } from "../../store/sims.ts";

/** Returns the SIM as the API shows it. */
export function toSimBody({ asset, type, isLost, operatorStatus, checkedAtMs }: SimEntry): SimEntryBody {
  const sim = toOperatorSim(asset, type);
  if (!sim) throw new Error(`asset ${asset.uuid} has no ${type}`);
  const { status, networkGroup, pending } = sim.state;
  const serviceProfile = type === "prosim" ? asset.prosim?.serviceProfile : undefined;
  return {
    type,
    iccid: sim.iccid,
    asset_id: asset.uuid,
    asset_name: asset.name,
    status,
    ...(operatorStatus !== undefined && { operator_status: operatorStatus }),
    ...(networkGroup !== undefined && { network_group: networkGroup }),
    ...(serviceProfile !== undefined && { service_profile: serviceProfile }),
    ...(pending && { pending: toPendingView(pending) }),
    lost: isLost,
    checked_at: checkedAtMs === undefined ? null : Math.floor(checkedAtMs / 1000),
  };
}
