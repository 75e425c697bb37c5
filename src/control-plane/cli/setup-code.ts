import type { Command } from "commander";
import { issueSetUpCode, notedConsoleUrl } from "../accounts/set-up-code.ts";
import {
  type AdministrationOptions,
  configOfOptions,
  formatTimeOrNever,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

/** `setup-code`. */
export function addSetupCodeCommand(program: Command, context: CliContext): void {
  withAdministrationOptions(program.command("setup-code"))
    .description("create a code that makes the first admin, or another one of an account; it works once, for 24 hours")
    .option("--account <id>", "the account; without it the code makes the first account")
    .action((options: AdministrationOptions & { account?: string }) =>
      runAdministration(
        context,
        options,
        async (store) => {
          const { account } = options;
          if (account !== undefined) await requireAccount(store, account);
          else if (await store.users.hasUsers())
            throw new ServiceCommandError("the service is set up; give --account for another admin of an account");
          else if ((await store.accounts.listAccounts()).length > 0)
            throw new ServiceCommandError(
              "there is an account already; give --account, see `edge-control account list`",
            );
          const url = notedConsoleUrl(configOfOptions(options));
          const origin = account === undefined ? undefined : commandOrigin(account);
          const { code, link, expiresAt } = await issueSetUpCode({ store, clock: context.clock }, url, origin);
          return { code, link, account_id: account ?? null, expires_at: expiresAt };
        },
        ({ link, expires_at }) =>
          `${link}\nThe link works once, until ${formatTimeOrNever(expires_at)}, and is not shown again.`,
      ),
    );
}
