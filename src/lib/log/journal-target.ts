import { type DatagramSender, openDatagramSender } from "../unix-datagram.ts";
import { formatJournalLine } from "./journal.ts";
import { JOURNAL_SOCKET, journalEntry } from "./journal-entry.ts";

interface Target {
  write(line: string): void;
}

/**
 * Writes lines of a log into the journal with their fields. What its socket does not take, because the journal is being
 * restarted, is busy, or this Node.js cannot send datagrams, goes the way everything on standard output goes.
 *
 * @param stream standard output, which systemd connected to the journal
 */
export function journalTarget(
  stream: Target,
  sender: DatagramSender | undefined = openDatagramSender(),
  path: string = JOURNAL_SOCKET,
): Target {
  return {
    write(line) {
      const entry = sender && journalEntry(line);
      if (!entry || !sender.send(path, entry)) stream.write(formatJournalLine(line));
    },
  };
}
