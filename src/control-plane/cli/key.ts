import { type Command, InvalidArgumentError } from "commander";
import { z } from "zod";
import { unixNow } from "../../lib/clock.ts";
import { DEFAULT_KEY_ROLE } from "../../protocol/people/api-keys.ts";
import { MAX_UNIX_SECONDS } from "../../protocol/values/scalars.ts";
import { isRole, type Role, ROLES } from "../core/people/roles.ts";
import { parsePermissions, permissionName } from "../core/permission.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { createId, createSecret, hashSecret } from "../accounts/secrets.ts";
import type { ApiKey } from "../store/accounts.ts";
import {
  type AdministrationOptions,
  requireAccount,
  runAdministration,
  formatTable,
  formatTimeOrNever,
  withAdministrationOptions,
} from "./administration.ts";
import { KEY_BOUNDS } from "../core/people/key-limits.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

const DURATION = /^(\d{1,6})([mhd])$/;
const SECONDS: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 24 * 3600 };

interface CreationOptions extends AdministrationOptions {
  readonly account: string;
  readonly name: string;
  readonly allow?: string;
  readonly role: Role;
  readonly expires?: string;
}

/** `key create`, `key list` and `key revoke`. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const key = program.command("key").description("manage API keys");
  addCreate(key, context);
  addList(key, context);
  addRevoke(key, context);
}

function addCreate(key: Command, context: CliContext): void {
  withAdministrationOptions(key.command("create"))
    .description("create an API key, which is shown only once")
    .requiredOption("--account <id>", "account the key acts for")
    .requiredOption("--name <name>", "what the key is for")
    .option("--allow <list>", "what it may do besides: forward (ports of apps), exec (commands and files of apps)")
    .option("--role <role>", `what it may do: ${ROLES.join(", ")}`, parseRole, DEFAULT_KEY_ROLE)
    .option("--expires <time>", "when it expires: in a time such as 24h or 90d, or at one such as 2027-01-31T00:00:00Z")
    .action((options: CreationOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await requireAccount(store, options.account);
          const permissions = options.allow === undefined ? [] : parsePermissions(options.allow);
          if (!permissions) throw new ServiceCommandError("--allow takes forward and exec, separated by a comma");
          const { role } = options;
          const createdAt = unixNow(context.clock);
          const expiresAt = options.expires === undefined ? undefined : parseExpiry(options.expires, createdAt);
          const id = createId("key_");
          const secret = createSecret("ek_");
          const result = await store.keys.createKey(
            {
              id,
              accountId: options.account,
              name: options.name,
              createdAt,
              lastUsedAt: undefined,
              revokedAt: undefined,
              permissions,
              role,
              expiresAt,
              createdBy: undefined,
            },
            hashSecret(secret),
            auditEntry(commandOrigin(options.account), context.clock, {
              action: "key.created",
              subject: { kind: "key", id, name: options.name },
              details: { role, permissions, ...(expiresAt !== undefined && { expires_at: expiresAt }) },
            }),
            KEY_BOUNDS,
          );
          if (result === "too_many")
            throw new ServiceCommandError(`the account has ${KEY_BOUNDS.maxKeys} keys already; revoke unused ones`);
          return { key_id: id, api_key: secret };
        },
        ({ key_id, api_key }) => `key ${key_id}\n${api_key}\nThe key is not shown again: keep it in a safe place.`,
      ),
    );
}

function addList(key: Command, context: CliContext): void {
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
            ["KEY", "ACCOUNT", "CREATED", "LAST USED", "REVOKED", "ROLE", "EXPIRES", "ALLOWS", "NAME"],
            ...keys.map((entry) => [
              entry.key_id,
              entry.account_id,
              formatTimeOrNever(entry.created_at),
              formatTimeOrNever(entry.last_used_at),
              entry.revoked_at === null ? "no" : formatTimeOrNever(entry.revoked_at),
              entry.role,
              formatTimeOrNever(entry.expires_at),
              entry.permissions.length === 0 ? "-" : entry.permissions.map(permissionName).join(","),
              entry.name,
            ]),
          ]),
      ),
    );
}

function addRevoke(key: Command, context: CliContext): void {
  withAdministrationOptions(key.command("revoke <key_id>"))
    .description("revoke an API key; from now on it is refused, and its open streams are closed")
    .action((keyId: string, options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          const key = await store.keys.findKey(keyId);
          if (!key) throw new ServiceCommandError(`there is no key ${keyId}; see \`edge-control key list\``);
          const { accountId, name } = key;
          const subject = { kind: "key", id: keyId, name };
          const entry = auditEntry(commandOrigin(accountId), context.clock, { action: "key.revoked", subject });
          await store.keys.revokeKey(keyId, unixNow(context.clock), entry);
          return toKeyRecord((await store.keys.findKey(keyId)) ?? key);
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
    role: key.role,
    expires_at: key.expiresAt ?? null,
    created_by: key.createdBy ?? null,
  };
}

function parseRole(text: string): Role {
  if (isRole(text)) return text;
  throw new InvalidArgumentError(`Expected one of ${ROLES.join(", ")}.`);
}

/** Parses a duration or a time; returns Unix seconds. Throws `CommandError` unless it is in the future. */
function parseExpiry(text: string, now: number): number {
  const [, count, unit = ""] = DURATION.exec(text) ?? [];
  const at = count === undefined ? parseTime(text) : now + Number(count) * (SECONDS[unit] ?? 0);
  if (at !== undefined && at > now && at <= MAX_UNIX_SECONDS) return at;
  throw new ServiceCommandError(
    "--expires takes a time such as 24h or 90d, or one in the future such as 2027-01-31T00:00:00Z",
  );
}

function parseTime(text: string): number | undefined {
  return z.iso.datetime({ offset: true }).safeParse(text).success ? Math.floor(Date.parse(text) / 1000) : undefined;
}
