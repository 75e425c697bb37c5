import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { AssetSettingsOutcome } from "../../store/asset-settings.ts";

/** Throws unless the asset has what was asked for. Errors: `AssetNotFound` if it was removed meanwhile, and `tooMany`. */
export function requireSettingsChange(result: AssetSettingsOutcome, tooMany: () => EdgeError): void {
  if (result === "no_asset") throw new EdgeError("AssetNotFound");
  if (result === "too_many") throw tooMany();
}
