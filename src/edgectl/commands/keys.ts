import { type Command, InvalidArgumentError, Option } from "commander";
import { ROLES } from "../../protocol/people/principal.ts";
import { createKey, type Key, listKeys, revokeKey } from "../api/people.ts";
import { connect, createContext } from "../context.ts";
import type { Io } from "../io.ts";
import { renderKeys } from "../views/people-view.ts";
import { addPagingOptions, listPages, noteMorePages, type PagingOptions } from "./options.ts";

const DAY_S = 24 * 3600;
const MAX_DAYS = 36_500;
const PERMISSIONS: Readonly<Record<string, string>> = { forward: "apps.forward", exec: "apps.exec" };

interface CreateOptions {
  readonly name: string;
  readonly role?: string;
  /** In days. */
  readonly expires?: number;
  readonly allow?: readonly string[];
}

export function addKeysList(keys: Command, io: Io): void {
  const list = keys.command("list").description("list the API keys of your account; a key itself is not shown again");
  addPagingOptions(list).action(async (options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listKeys(client, position);
      return { items: page.api_keys, next: page.next_cursor };
    });
    const now = Math.floor(io.clock.now() / 1000);
    printer.result({ api_keys: items, next_cursor: next }, () => renderKeys(items, now, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addKeysCreate(keys: Command, io: Io): void {
  keys
    .command("create")
    .description("create an API key, which is shown only once")
    .requiredOption("--name <name>", "what the key is for")
    .addOption(new Option("--role <role>", "what it may do (operator if not given)").choices(ROLES))
    .option("--expires <days>", "after how many days it is refused (never if not given), such as 90d", parseDays)
    .option(
      "--allow <list>",
      "what it may do besides: forward (ports of apps), exec (commands and files of apps)",
      parseAllow,
    )
    .action(async ({ name, role, expires, allow }: CreateOptions, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const created = await createKey(await connect(context), {
        name,
        role,
        expires_at: expires === undefined ? undefined : Math.floor(io.clock.now() / 1000) + expires * DAY_S,
        permissions: allow,
      });
      printer.result(created, () => created.api_key);
      printer.note("The key is not shown again: keep it in a safe place.");
      printer.note(boundTo(created.key));
    });
}

export function addKeysRevoke(keys: Command, io: Io): void {
  keys
    .command("revoke")
    .description("revoke an API key: it is refused from now on, and its open streams end")
    .argument("<key>", "id of the key")
    .action(async (id: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      await revokeKey(await connect(context), id, io.interrupted);
      context.printer.result({ key_id: id, revoked: true }, () => `Key ${id} is revoked.`);
    });
}

/** What a key ends with, since it was made with another one. */
function boundTo({ belongs_to: owner }: Key): string {
  const withMaker = "It ends no later than the key of your log-in, by time and by revocation";
  if (owner !== "person") return `${withMaker}.`;
  return `${withMaker}, and when you get another password or leave. Make keys for CI in the console, where they can belong to the account.`;
}

function parseDays(text: string): number {
  const [, count = ""] = /^(\d{1,5})d?$/.exec(text) ?? [];
  const days = Number(count);
  if (count !== "" && days >= 1 && days <= MAX_DAYS) return days;
  throw new InvalidArgumentError(`Give a number of days from 1 to ${MAX_DAYS}, such as 90d.`);
}

function parseAllow(text: string): readonly string[] {
  return text.split(",").map((name) => {
    const permission = Object.hasOwn(PERMISSIONS, name.trim()) ? PERMISSIONS[name.trim()] : undefined;
    if (permission !== undefined) return permission;
    throw new InvalidArgumentError("Give forward, exec, or both separated by a comma.");
  });
}
