import type { AttentionReason } from "../../../protocol/attention.ts";
import type { AssetListItem } from "../../api/types.ts";

/** What a list of assets says of the device, as it was last reported. */
export interface AssetState {
  readonly connected: boolean;
  /** Unix seconds; `null`: never connected. */
  readonly last_seen: number | null;
  readonly agent_version: string | null;
  readonly attention: readonly AttentionReason[];
}

/** An asset of the list. A service of before this release does not say how its device is. */
export type AssetRow = AssetListItem & Partial<AssetState>;

export function simsOf({ supersim, prosim }: Pick<AssetListItem, "supersim" | "prosim">): string {
  return [supersim && "Super", prosim && "PRO"].filter(Boolean).join(", ") || "none";
}
