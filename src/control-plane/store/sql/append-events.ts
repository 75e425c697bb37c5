import type { NewAccountEvent } from "../../core/account-event.ts";
import type { Work } from "./statement.ts";

const APPEND = "INSERT INTO account_events (account_id, event) VALUES (?, ?)";

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
