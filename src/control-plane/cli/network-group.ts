import type { Command } from "commander";
import { DEFAULT_NETWORK_GROUPS, networkGroupSchema } from "../../protocol/assets/sim.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { isDefaultGroup } from "../core/network-group.ts";
import {
  type AdministrationOptions,
  requireAccount,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

/** Maximum number of an account's own network groups. */
export const MAX_GROUPS_PER_ACCOUNT = 1_000;

interface NetworkGroupOptions extends AdministrationOptions {
  readonly account: string;
}

/** `network-group add` and `network-group list`. */
export function addNetworkGroupCommands(program: Command, context: CliContext): void {
  const group = program.command("network-group").description("manage an account's own network groups");
  withAdministrationOptions(group.command("add <name>"))
    .description("add a network group; does nothing if it exists")
    .requiredOption("--account <id>", "account the group is for")
    .action((name: string, options: NetworkGroupOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await requireAccount(store, options.account);
          requireName(name);
          const own = await store.networkGroups.listNetworkGroups(options.account);
          if (own.length >= MAX_GROUPS_PER_ACCOUNT && !own.includes(name)) {
            throw new ServiceCommandError(
              `the account has ${MAX_GROUPS_PER_ACCOUNT} network groups of its own already`,
            );
          }
          const entry = auditEntry(commandOrigin(options.account), context.clock, {
            action: "network_group.added",
            subject: { kind: "network_group", id: name },
          });
          await store.networkGroups.addNetworkGroup(options.account, name, entry);
          return { network_group: name };
        },
        ({ network_group }) => `network group ${network_group}`,
      ),
    );
  withAdministrationOptions(group.command("list"))
    .description("list the network groups an account may use")
    .requiredOption("--account <id>", "account to list them for")
    .action((options: NetworkGroupOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          await requireAccount(store, options.account);
          const own = await store.networkGroups.listNetworkGroups(options.account);
          return { default: [...DEFAULT_NETWORK_GROUPS], own };
        },
        (groups) => [...groups.default, ...groups.own].join("\n"),
      ),
    );
}

function requireName(name: string): void {
  const result = networkGroupSchema.safeParse(name);
  if (!result.success)
    throw new ServiceCommandError(`${JSON.stringify(name)} ${result.error.issues[0]?.message ?? ""}`);
  if (isDefaultGroup(name)) throw new ServiceCommandError(`${name} is a default group, which every account has`);
}
