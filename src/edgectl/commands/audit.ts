import type { Command } from "commander";
import { listAudit } from "../api/people.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderAudit } from "../views/people-view.ts";
import { addPagingOptions, listPages, noteMorePages, type PagingOptions, timeParser } from "./options.ts";

const TIME_HINT = "Write 2026-11-01, 2026-11-01T12:00 (UTC), 24h or 7d ago, or Unix seconds.";

interface AuditOptions extends PagingOptions {
  readonly actor?: string;
  readonly action?: string;
  readonly asset?: string;
  readonly outcome?: string;
  readonly since?: number;
  readonly until?: number;
}

export function addAudit(program: Command, io: Io): void {
  const time = timeParser(io.clock, TIME_HINT);
  const audit = program
    .command("audit")
    .description("show who did what, the newest first")
    .option("--actor <id>", "only what this user, key or device did")
    .option("--action <action>", "only this action, such as key.created, or key. for all that begin so")
    .option("--asset <asset>", "only what was done on this asset")
    .option("--outcome <outcome>", "ok, failed for all others, or one error code")
    .option("--since <time>", "only from then on: a time, or how long ago, such as 2h", time)
    .option("--until <time>", "only before then", time);
  addPagingOptions(audit).action(async (options: AuditOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { actor, action, asset, outcome, since, until } = options;
    const { items, next } = await listPages(options, async (position) => {
      const page = await listAudit(client, { actor, action, asset, outcome, since, until, ...position });
      return { items: page.entries, next: page.next_cursor };
    });
    printer.result({ entries: items, next_cursor: next }, () => renderAudit(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}
