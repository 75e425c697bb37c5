import { Argument, type Command, Option } from "commander";
import { formatTime } from "../../lib/terminal/time.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { ROLES } from "../../protocol/people/principal.ts";
import { type ApiClient, fetchPages } from "../api/client.ts";
import { inviteUser, listUsers, removeUser, resetUser, setUserRole, type User } from "../api/people.ts";
import { connect, createContext } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";
import { renderUser, renderUsers } from "../views/people-view.ts";
import { addPagingOptions, listPages, noteMorePages, type PagingOptions } from "./options.ts";

const USER = ["<user>", "id or address of the person"] as const;
const role = (text: string): Option => new Option("--role <role>", text).choices(ROLES);

export function addUsersList(users: Command, io: Io): void {
  const list = users.command("list").description("list the people of your account");
  addPagingOptions(list).action(async (options: PagingOptions, command: Command) => {
    const context = createContext(io, command);
    const { printer } = context;
    const client = await connect(context);
    const { items, next } = await listPages(options, async (position) => {
      const page = await listUsers(client, position);
      return { items: page.users, next: page.next_cursor };
    });
    printer.result({ users: items, next_cursor: next }, () => renderUsers(items, printer.theme, printer.width));
    noteMorePages(printer, next);
  });
}

export function addUsersInvite(users: Command, io: Io): void {
  users
    .command("invite")
    .description("invite a person; prints a link to pass on, which can be used once")
    .argument("<address>", "address the person will sign in with")
    .addOption(role("what the person may do").makeOptionMandatory())
    .option("--name <name>", "name of the person (the address if not given)")
    .action(async (email: string, options: { role: string; name?: string }, command: Command) => {
      const context = createContext(io, command);
      const invited = await inviteUser(await connect(context), { email, ...options });
      printLink(context.printer, invited, invited.invitation);
      const { role_decided_by: provider } = invited;
      if (typeof provider === "string")
        context.printer.note(
          `${provider} decides about roles: a person who signs in with it has the role of its groups, in place of ${options.role}.`,
        );
    });
}

export function addUsersRole(users: Command, io: Io): void {
  users
    .command("role")
    .description("change what a person may do; ends the person's sessions")
    .argument(...USER)
    .addArgument(new Argument("<role>", "what the person may do").choices(ROLES))
    .action(async (user: string, newRole: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
      const changed = await setUserRole(client, await findId(client, user), newRole);
      context.printer.result(changed, () => renderUser(changed, context.printer.theme));
    });
}

export function addUsersReset(users: Command, io: Io): void {
  users
    .command("reset")
    .description("print a link with which a person chooses another password")
    .argument(...USER)
    .action(async (user: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
      const made = await resetUser(client, await findId(client, user));
      printLink(context.printer, made, made.reset);
    });
}

export function addUsersRemove(users: Command, io: Io): void {
  users
    .command("remove")
    .description("remove a person, with all sessions and the keys of the person's log-ins")
    .argument(...USER)
    .action(async (user: string, _options: unknown, command: Command) => {
      const context = createContext(io, command);
      const client = await connect(context);
      const id = await findId(client, user);
      await removeUser(client, id, io.interrupted);
      context.printer.result({ user_id: id, removed: true }, () => `${sanitizeLine(user)} is removed.`);
    });
}

/** Returns the id of the person with this id or address. */
async function findId(client: ApiClient, user: string): Promise<string> {
  if (!user.includes("@")) return user;
  const { items } = await fetchPages<User>(
    async (cursor) => {
      const page = await listUsers(client, { cursor });
      return { items: page.users, next: page.next_cursor };
    },
    { cursor: undefined, all: true },
  );
  const found = items.find(({ email }) => email.toLowerCase() === user.toLowerCase());
  if (found) return found.id;
  throw new Failure(`No user of your account has the address ${user}.`, {
    exitCode: EXIT.notFound,
    hint: "List the people with `edgectl users list`.",
  });
}

function printLink(
  printer: Printer,
  document: unknown,
  { link, expires_at }: { link: string; expires_at: number },
): void {
  printer.result(document, () => sanitizeLine(link));
  printer.note(`Pass the link on. It can be used once, until ${formatTime(expires_at)} UTC, and is not shown again.`);
}
