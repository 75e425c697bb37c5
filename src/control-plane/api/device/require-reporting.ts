import { EdgeError } from "../../../protocol/errors.ts";
import type { Asset } from "../../core/asset.ts";
import type { ApiContext } from "../context.ts";

/** Error: `DeviceTooOld` when the device that is connected is one that tells nothing of itself. */
export function requireReportingAgent({ devices }: Pick<ApiContext, "devices">, asset: Asset): void {
  const session = devices.find(asset.uuid);
  if (session && !session.supports("reports")) throw new EdgeError("DeviceTooOld");
}
