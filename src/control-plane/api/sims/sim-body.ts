import type { SimEntryBody } from "../../../protocol/assets/sim-list.ts";
import { toPendingView } from "../../core/asset-view.ts";
import { periodOf } from "../../core/usage-period.ts";
import { toOperatorSim } from "../../sim-operator/sim-operator.ts";
import type { SimEntry } from "../../store/sims.ts";

/** Returns the SIM as the API shows it. @param now Unix seconds */
export function toSimBody(entry: SimEntry, now: number): SimEntryBody {
  const { asset, type, isLost, operatorStatus, checkedAtMs } = entry;
  const sim = toOperatorSim(asset, type);
  if (!sim) throw new Error(`asset ${asset.uuid} has no ${type}`);
  const { status, networkGroup, pending } = sim.state;
  const serviceProfile = type === "prosim" ? asset.prosim?.serviceProfile : undefined;
  return {
    type,
    iccid: sim.iccid,
    asset_id: asset.uuid,
    asset_name: asset.name,
    serial_number: asset.serialNumber,
    status,
    ...(operatorStatus !== undefined && { operator_status: operatorStatus }),
    ...(networkGroup !== undefined && { network_group: networkGroup }),
    ...(serviceProfile !== undefined && { service_profile: serviceProfile }),
    ...(pending && { pending: toPendingView(pending) }),
    lost: isLost,
    checked_at: checkedAtMs === undefined ? null : Math.floor(checkedAtMs / 1000),
    ...allowanceOf(entry, now),
  };
}

function allowanceOf({ allowance, planUsage: usage }: SimEntry, now: number): Pick<SimEntryBody, "allowance"> {
  if (!allowance) return {};
  // The allowance begins anew with each month: what was counted before says nothing of this one.
  const isOfThisMonth = usage !== undefined && usage.asOf >= periodOf(now, "month").start;
  return {
    allowance: {
      ...allowance,
      period: "calendar_month",
      ...(isOfThisMonth && { used_bytes: usage.usedBytes, forecast_bytes: usage.forecastBytes, as_of: usage.asOf }),
    },
  };
}
