import { EdgeError } from "../../../protocol/errors.ts";
import type { Asset } from "../../core/asset.ts";
import { TELLING_PROTOCOL } from "../../deployments/devices.ts";
import type { ApiContext } from "../context.ts";

/** Error: `DeviceTooOld` when the device that is connected is one that tells nothing of itself. */
export function refuseOldAgent({ devices }: Pick<ApiContext, "devices">, asset: Asset): void {
  const session = devices.find(asset.uuid);
  if (session && session.protocol < TELLING_PROTOCOL) throw new EdgeError("DeviceTooOld");
}
