import type { Command } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { createId } from "../accounts/secrets.ts";
import {
  type AdministrationOptions,
  runAdministration,
  formatTable,
  formatTimeOrNever,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

const MAX_NAME_LENGTH = 128;

/** `account create` and `account list`. */
export function addAccountCommands(program: Command, context: CliContext): void {
  const account = program.command("account").description("manage accounts");
  withAdministrationOptions(account.command("create <name>"))
    .description("create an account")
    .action((name: string, options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          if (name === "" || name.length > MAX_NAME_LENGTH) {
            throw new ServiceCommandError(`the name of an account has 1 to ${MAX_NAME_LENGTH} characters`);
          }
          const id = createId("acc_");
          const entry = auditEntry(commandOrigin(id), context.clock, {
            action: "account.created",
            subject: { kind: "account", id, name },
          });
          await store.accounts.createAccount({ id, name, createdAt: unixNow(context.clock) }, entry);
          return { account_id: id };
        },
        ({ account_id }) => `account ${account_id}`,
      ),
    );
  withAdministrationOptions(account.command("list"))
    .description("list the accounts")
    .action((options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          const accounts = await store.accounts.listAccounts();
          return accounts.map(({ id, name, createdAt }) => ({ account_id: id, name, created_at: createdAt }));
        },
        (accounts) =>
          formatTable([
            ["ACCOUNT", "CREATED", "NAME"],
            ...accounts.map(({ account_id, created_at, name }) => [account_id, formatTimeOrNever(created_at), name]),
          ]),
      ),
    );
}
