import type { Command } from "commander";
import type { StoredAuditEntry } from "../store/audit.ts";
import {
  type AdministrationOptions,
  formatTable,
  formatTimeOrNever,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import type { CliContext } from "./context.ts";

const MAX_ENTRIES = 1_000;

/** `audit list`. */
export function addAuditCommands(program: Command, context: CliContext): void {
  const audit = program.command("audit").description("read the audit log");
  withAdministrationOptions(audit.command("list"))
    .description(`list the last ${MAX_ENTRIES} entries of an account, newest first`)
    .option("--account <id>", "the account; without it, entries about no account, such as imports of usage")
    .action((options: AdministrationOptions & { account?: string }) =>
      runAdministration(
        context,
        options,
        async (store) => {
          if (options.account !== undefined) await requireAccount(store, options.account);
          return (await store.audit.listEntries(options.account ?? "", MAX_ENTRIES)).map(toAuditRecord);
        },
        (entries) =>
          formatTable([
            ["TIME", "WHO", "FROM", "ACTION", "SUBJECT", "ASSET", "APP", "OUTCOME", "DETAILS"],
            ...entries.map((entry) => [
              formatTimeOrNever(entry.at),
              `${entry.actor.kind} ${entry.actor.name ?? entry.actor.id}`,
              entry.source ?? "-",
              entry.action,
              entry.subject ? (entry.subject.name ?? entry.subject.id) : "-",
              entry.asset_uuid === "" ? "-" : entry.asset_uuid,
              entry.app === "" ? "-" : entry.app,
              entry.outcome,
              JSON.stringify(entry.details),
            ]),
          ]),
      ),
    );
}

function toAuditRecord({ id, at, actor, source, action, assetUuid, app, outcome, details, subject }: StoredAuditEntry) {
  return {
    id: String(id),
    at,
    actor,
    // As it was when only keys were in the log.
    key_id: actor.kind === "key" ? actor.id : null,
    source: source ?? null,
    action,
    asset_uuid: assetUuid,
    app,
    subject: subject ?? null,
    outcome,
    details,
  };
}
