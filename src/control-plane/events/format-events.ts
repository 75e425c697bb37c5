import type { AccountEvent, AccountStreamNote } from "../../protocol/assets/account-event.ts";
import type { AccountEventPage, StoredAccountEvent } from "../store/account-events.ts";

/** Reads the events of an account after an id. */
export type ReadEvents = (after: number, limit: number) => Promise<AccountEventPage>;

/** Formats a note or an event: a line with its id, one with its data, and a blank line. */
export function formatLine(content: AccountStreamNote | AccountEvent): string {
  return `id: ${content.id}\ndata: ${JSON.stringify(content)}\n\n`;
}

/** Formats events as the stream has them. */
export function formatEvents(events: readonly StoredAccountEvent[]): Buffer {
  const lines = events.map(({ id, atMs, event }) => {
    const { type, ...about } = event;
    return formatLine({ id: String(id), type, timestamp: Math.floor(atMs / 1000), ...about } as AccountEvent);
  });
  return Buffer.from(lines.join(""));
}
