import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { Clock } from "../../lib/clock.ts";
import { readKeyFile } from "../sealing/key-file.ts";
import { findPrunable, pruneKeys, rotateKeys } from "../sealing/rotate-keys.ts";
import type { Store } from "../store/store.ts";
import {
  type AdministrationOptions,
  formatTable,
  formatTimeOrNever,
  requireKeyFile,
  runAdministration,
  withAdministrationOptions,
} from "./administration.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

/** `secrets status`, `secrets rotate` and `secrets prune`. */
export function addSecretsCommands(program: Command, context: CliContext): void {
  const secrets = program
    .command("secrets")
    .description("manage the keys that seal variables, revisions, credentials and channels");
  addStatus(secrets, context);
  addRotate(secrets, context);
  addPrune(secrets, context);
}

function addStatus(secrets: Command, context: CliContext): void {
  withAdministrationOptions(secrets.command("status"))
    .description("list the keys, and how many values each one seals")
    .action((options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        (store) => readStatus(store, requireKeyFile(options)),
        (keys) =>
          formatTable([
            ["KEY", "CURRENT", "CREATED", "VALUES", "IN FILE"],
            ...keys.map(({ key_id, is_current, created_at, values, in_file }) => [
              key_id,
              is_current ? "yes" : "no",
              created_at === null ? "-" : formatTimeOrNever(created_at),
              String(values),
              in_file ? "yes" : "no",
            ]),
          ]),
      ),
    );
}

function addRotate(secrets: Command, context: CliContext): void {
  withAdministrationOptions(secrets.command("rotate"))
    .description(
      "add a new key to the key file and seal everything with it, also while the server runs; run it again to finish one that " +
        "was interrupted",
    )
    .action((options: AdministrationOptions) =>
      runAdministration(
        context,
        options,
        async (store) => {
          const clock = waitingClock(context);
          const { keyId, hasResumed, ...counts } = await rotateKeys({ path: requireKeyFile(options), store, clock });
          return { key_id: keyId, resumed: hasResumed, ...counts };
        },
        ({ key_id, resumed, variables, revisions, credentials, channels }) =>
          `${resumed ? "finished the interrupted rotation to" : "rotated to"} the key ${key_id}: sealed ${variables} ` +
          `variables, ${revisions} revisions, ${credentials} credentials and ${channels} channels again. Keep a copy of the key file apart from the backups`,
      ),
    );
}

function addPrune(secrets: Command, context: CliContext): void {
  withAdministrationOptions(secrets.command("prune"))
    .description("remove the keys that seal nothing from the key file; older backups need them")
    .option("--yes", "remove them; without it, the command only says which")
    .action((options: AdministrationOptions & { yes?: true }) =>
      runAdministration(
        context,
        options,
        async (store) => {
          const from = { path: requireKeyFile(options), store, clock: waitingClock(context) };
          if (options.yes) return { removed: await pruneKeys(from) };
          const unused = await findPrunable(from);
          if (unused.length === 0) return { removed: [] };
          throw new ServiceCommandError(
            `backups from before the rotation cannot be opened without ${unused.join(", ")}: keep a copy of the key file ` +
              "with them, and give --yes to remove these keys",
          );
        },
        ({ removed }) => (removed.length === 0 ? "nothing to remove" : `removed ${removed.join(", ")}`),
      ),
    );
}

async function readStatus({ sealingKeys }: Store, path: string) {
  const inFile = new Set((readKeyFile(path) ?? []).map(({ id }) => id));
  const counts = await sealingKeys.countUsed();
  const registered = new Map((await sealingKeys.list()).map((key) => [key.id, key]));
  return [...new Set([...registered.keys(), ...counts.keys(), ...inFile])].map((id) => {
    const key = registered.get(id);
    return {
      key_id: id,
      is_current: key?.isCurrent ?? false,
      created_at: key ? Math.floor(key.createdAtMs / 1000) : null,
      values: counts.get(id) ?? 0,
      in_file: inFile.has(id),
    };
  });
}

/** The clock of a command: its process does not end while it waits, as it would with a timer of the service. */
function waitingClock({ clock }: CliContext): Pick<Clock, "now" | "sleep"> {
  return { now: () => clock.now(), sleep: (ms) => setTimeout(ms) };
}
