import type { Command } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { parsePermissions, permissionName } from "../core/permission.ts";
import { createId, createSecret, hashSecret } from "../secrets.ts";
import type { ApiKey } from "../store/accounts.ts";
import {
  type AdministrationOptions,
  requireAccount,
  runAdministration,
  formatTable,
  formatTimeOrNever,
  withAdministrationOptions,
} from "./administration.ts";
import { MAX_KEYS_PER_ACCOUNT } from "../core/people/key-limits.ts";
import { type CliContext, CommandError } from "./context.ts";

/** `key create`, `key list` and `key revoke`. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const key = program.command("key").description("manage API keys");
  withAdministrationOptions(key.command("create"))
    .description("create an API key, which is shown only once")
    .requiredOption("--account <id>", "account the key acts for")
    .requiredOption("--name <name>", "what the key is for")
    .option("--allow <list>", "what it may do besides: forward (ports of apps), exec (commands and files of apps)")
    .action((options: AdministrationOptions & { account: string; name: string; allow?: string }) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await requireAccount(store, options.account);
          const permissions = options.allow === undefined ? [] : parsePermissions(options.allow);
          if (!permissions) throw new CommandError("--allow takes forward and exec, separated by a comma");
          const keys = await store.keys.listKeys(options.account);
          if (keys.filter(({ revokedAt }) => revokedAt === undefined).length >= MAX_KEYS_PER_ACCOUNT) {
            throw new CommandError(`the account has ${MAX_KEYS_PER_ACCOUNT} keys already; revoke unused ones`);
          }
          const id = createId("key_");
          const secret = createSecret("ek_");
          const createdAt = unixNow(context.clock);
          await store.keys.createKey(
            {
              id,
              accountId: options.account,
              name: options.name,
              createdAt,
              lastUsedAt: undefined,
              revokedAt: undefined,
              permissions,
              role: "admin",
              expiresAt: undefined,
              createdBy: undefined,
            },
            hashSecret(secret),
          );
          return { key_id: id, api_key: secret };
        },
        ({ key_id, api_key }) => `key ${key_id}\n${api_key}\nThe key is not shown again: keep it in a safe place.`,
      ),
    );
  withAdministrationOptions(key.command("list"))
    .description("list the API keys; a key itself cannot be shown again")
    .option("--account <id>", "only the keys of this account")
    .action((options: AdministrationOptions & { account?: string }) =>
      runAdministration(
        context,
        options,
        async (store) => {
          if (options.account !== undefined) await requireAccount(store, options.account);
          return (await store.keys.listKeys(options.account)).map(toKeyRecord);
        },
        (keys) =>
          formatTable([
            ["KEY", "ACCOUNT", "CREATED", "LAST USED", "REVOKED", "ALLOWS", "NAME"],
            ...keys.map((entry) => [
              entry.key_id,
              entry.account_id,
              formatTimeOrNever(entry.created_at),
              formatTimeOrNever(entry.last_used_at),
              entry.revoked_at === null ? "no" : formatTimeOrNever(entry.revoked_at),
              entry.permissions.length === 0 ? "-" : entry.permissions.map(permissionName).join(","),
              entry.name,
            ]),
          ]),
      ),
    );
  withAdministrationOptions(key.command("revoke <key_id>"))
    .description("revoke an API key; from now on it is refused, and its open streams are closed")
    .action((keyId: string, options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await store.keys.revokeKey(keyId, unixNow(context.clock));
          const revoked = await store.keys.findKey(keyId);
          if (!revoked) throw new CommandError(`there is no key ${keyId}; see \`edge-control key list\``);
          return toKeyRecord(revoked);
        },
        ({ key_id }) => `key ${key_id} is revoked`,
      ),
    );
}

function toKeyRecord(key: ApiKey) {
  return {
    key_id: key.id,
    account_id: key.accountId,
    name: key.name,
    created_at: key.createdAt,
    last_used_at: key.lastUsedAt ?? null,
    revoked_at: key.revokedAt ?? null,
    permissions: key.permissions,
  };
}
