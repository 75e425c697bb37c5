import type { NewAccountEvent } from "../../core/account-event.ts";
import { change, one, type Work } from "./statement.ts";

const APPEND = "INSERT INTO account_events (account_id, event) VALUES (?, ?)";
const TOUCH = "UPDATE assets SET updated_at = unixepoch() WHERE uuid = ?";

/** Events about what people set of an asset, or about its SIMs. */
const UPDATES: ReadonlySet<string> = new Set(["asset.changed", "asset.accepted", "sim.changed"]);

const FIND_ACCOUNT = "SELECT account_id FROM assets WHERE uuid = ?";

/** Writes events of an account, in the transaction of the change that they are about, and when it was changed. */
export function* appendAccountEvents(accountId: string, events: readonly NewAccountEvent[]): Work<void> {
  for (const event of events) {
    yield {
      sql: APPEND,
      parameters: [accountId, JSON.stringify(event)],
      wanted: "change count",
      appendsTo: accountId,
    };
    if (UPDATES.has(event.type) && "asset_id" in event) yield* change(TOUCH, [event.asset_id]);
  }
}

/** Writes an event of the asset's account. Does nothing if the asset does not exist. */
export function* appendAssetEvent(
  assetUuid: string,
  type: "asset.changed" | "asset.removed" | "sim.changed",
): Work<void> {
  const asset = yield* one<{ readonly account_id: string }>(FIND_ACCOUNT, [assetUuid]);
  if (asset) yield* appendAccountEvents(asset.account_id, [{ type, asset_id: assetUuid }]);
}
