import type { Command } from "commander";
import type { Sealer } from "../sealing/sealer.ts";
import { UnsealError } from "../sealing/sealer.ts";
import { openAccess } from "../sim-operator/sealed-access.ts";
import type { StoredCredentials } from "../store/sim-credentials.ts";
import type { Store } from "../store/store.ts";
import {
  type AdministrationOptions,
  formatTable,
  formatTimeOrNever,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import type { CliContext } from "./context.ts";
import { openKeys } from "./open-keys.ts";

interface ShowOptions extends AdministrationOptions {
  readonly account?: string;
}

/** What is shown of credentials: never the secret. */
interface Shown {
  readonly url?: string;
  readonly client_id?: string;
  readonly account_sid?: string;
  /** Why they cannot be used. */
  readonly problem?: string;
}

/** `sim-operator show`. */
export function addShowSimCredentials(operators: Command, context: CliContext): void {
  withAdministrationOptions(operators.command("show"))
    .description("list the accounts that have credentials of their own; secrets are not shown")
    .option("--account <id>", "of this account alone")
    .action((options: ShowOptions) =>
      runAdministration(
        context,
        options,
        (store) => listCredentials(store, options),
        (found) =>
          formatTable([
            ["ACCOUNT", "SIM TYPE", "ADDRESS", "ID", "CHANGED", "KEY"],
            ...found.map(({ account_id, sim_type, url, problem, client_id, account_sid, changed_at, key_id }) => [
              account_id,
              sim_type,
              url ?? problem ?? "",
              client_id ?? account_sid ?? "-",
              formatTimeOrNever(changed_at),
              key_id,
            ]),
          ]),
      ),
    );
}

async function listCredentials(store: Store, options: ShowOptions) {
  const { account } = options;
  if (account !== undefined) await requireAccount(store, account);
  const all = await store.simCredentials.listCredentials();
  const found = all.filter(({ accountId }) => account === undefined || accountId === account);
  if (found.length === 0) return [];
  const sealer = await openKeys(store, options);
  return found.map((stored) => {
    const { url, client_id, account_sid, problem } = describe(sealer, stored);
    return {
      account_id: stored.accountId,
      sim_type: stored.type,
      url,
      client_id,
      account_sid,
      problem,
      changed_at: Math.floor(stored.changedAtMs / 1000),
      key_id: stored.keyId,
    };
  });
}

function describe(sealer: Sealer, stored: StoredCredentials): Shown {
  try {
    const { supersim, prosim } = openAccess(sealer, stored);
    if (prosim) return { url: prosim.url };
    if (!supersim) return {};
    const { url, credentials } = supersim;
    if ("accountSid" in credentials) return { url, account_sid: credentials.accountSid };
    return { url, client_id: credentials.clientId };
  } catch (error) {
    if (error instanceof UnsealError) return { problem: error.message };
    throw error;
  }
}
