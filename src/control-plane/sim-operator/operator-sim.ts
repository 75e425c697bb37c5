import type { SimType } from "../../protocol/sim.ts";
import type { Asset } from "../core/asset.ts";
import type { OperatorSim } from "./sim-operator.ts";

/** One SIM of an asset as the operator is told about it; `undefined` when the asset has none of this type. */
export function toOperatorSim(asset: Asset, type: SimType): OperatorSim | undefined {
  const { supersim, prosim } = asset;
  if (type === "supersim") {
    return (
      supersim && {
        type,
        iccid: supersim.iccid,
        operatorId: supersim.sid,
        state: { status: supersim.status, networkGroup: supersim.networkGroup },
      }
    );
  }
  return (
    prosim && {
      type,
      iccid: prosim.iccid,
      operatorId: prosim.imsi,
      state: { status: prosim.status, networkGroup: undefined },
    }
  );
}
