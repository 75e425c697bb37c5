import type { Command } from "commander";
import {
  type AdministrationOptions,
  dataDirOf,
  isDataDirNamed,
  printResult,
  withAdministrationOptions,
} from "./administration.ts";
import type { CliContext } from "./context.ts";

const KEY_FILE_LEFT_OUT =
  "the key file (secrets.key, or secrets_key_file) is not part of it: keep a copy of that file in another place";
const KEY_FILE_NEEDED = "put the key file that belongs to the backup in its place before the service starts";

/** `backup` and `restore`. */
export function addBackupCommands(program: Command, context: CliContext): void {
  withAdministrationOptions(program.command("backup <file>"))
    .description("copy the database into one file, also while the server runs; an existing file is replaced")
    .action(async (file: string, options: AdministrationOptions) => {
      await context.backup(dataDirOf(options), file);
      printResult(context, options, { backup: file }, () => `backed up to ${file}; ${KEY_FILE_LEFT_OUT}`);
    });
  withAdministrationOptions(program.command("restore <file>"))
    .description(
      "replace the database with a backup and keep the old database beside it; the server must not be running",
    )
    .action(async (file: string, options: AdministrationOptions) => {
      const replaced = await context.restore(dataDirOf(options), file, isDataDirNamed(options));
      printResult(context, options, { restored: file, replaced: replaced ?? null }, () =>
        replaced === undefined
          ? `restored from ${file}; ${KEY_FILE_NEEDED}`
          : `restored from ${file}; the replaced database is kept in ${replaced}; ${KEY_FILE_NEEDED}`,
      );
    });
}
