import type { NewAccountEvent } from "../../core/account-event.ts";
import { one, type Work } from "./statement.ts";

const APPEND = "INSERT INTO account_events (account_id, event) VALUES (?, ?)";
const FIND_ACCOUNT = "SELECT account_id FROM assets WHERE uuid = ?";

/** Writes events of an account, in the transaction of the change that they are about. */
export function* appendAccountEvents(accountId: string, events: readonly NewAccountEvent[]): Work<void> {
  for (const event of events) {
    yield {
      sql: APPEND,
      parameters: [accountId, JSON.stringify(event)],
      wanted: "change count",
      appendsTo: accountId,
    };
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
