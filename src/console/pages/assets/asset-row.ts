import type { AssetListItem } from "../../../protocol/api-types.ts";
import type { AccountEvent } from "../../../protocol/assets/account-event.ts";

/** An asset of the list, with what its device last reported. */
export type AssetRow = AssetListItem;

export function simsOf({ supersim, prosim }: Pick<AssetListItem, "supersim" | "prosim">): string {
  return [supersim && "Super", prosim && "PRO"].filter(Boolean).join(", ") || "none";
}

/** One page of the list as the service returned it. */
export interface AssetListPage {
  readonly assets: readonly AssetRow[];
  readonly next_cursor: string | null;
}

/** Pages that are fetched again after a change. With more, a single event would lead to hundreds of requests. */
export const MAX_REFETCHED_PAGES = 3;

/** Changes the row of the event's asset by what the event says. Pages without it stay the same objects. */
export function applyEvent(pages: readonly AssetListPage[], event: AccountEvent): readonly AssetListPage[] {
  if (!("asset_id" in event)) return pages;
  const id = event.asset_id;
  let isChanged = false;
  const changed = pages.map((page) => {
    if (!page.assets.some(({ uuid }) => uuid === id)) return page;
    isChanged = true;
    const assets = page.assets.flatMap((row) => (row.uuid === id ? changeRow(row, event) : [row]));
    return { assets, next_cursor: page.next_cursor };
  });
  return isChanged ? changed : pages;
}

function changeRow(row: AssetRow, event: AccountEvent): readonly AssetRow[] {
  const seen = event.timestamp;
  if (event.type === "device.connected") {
    const attention = row.attention.filter((reason) => reason !== "not_seen");
    return [{ ...row, connected: true, last_seen: seen, agent_version: event.agent_version, attention }];
  }
  if (event.type === "device.disconnected") return [{ ...row, connected: false, last_seen: event.last_seen ?? seen }];
  if (event.type === "device.reported") return [{ ...row, attention: event.attention }];
  if (event.type === "asset.accepted") return [{ ...row, accepted_at: seen, attention: event.attention }];
  if (event.type === "device.replaced") return [{ ...row, attention: event.attention }];
  if ("attention" in event && event.attention) {
    // Of a device that is away a deployment may begin and end.
    const isNotSeen = row.attention.includes("not_seen");
    return [{ ...row, attention: isNotSeen ? ["not_seen", ...event.attention] : event.attention }];
  }
  return event.type === "asset.removed" ? [] : [row];
}
