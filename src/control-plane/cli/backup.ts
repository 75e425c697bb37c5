import { type Command, InvalidArgumentError } from "commander";
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

function toCount(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 1 to 9999.");
}

/** `backup` and `restore`. */
export function addBackupCommands(program: Command, context: CliContext): void {
  withAdministrationOptions(program.command("backup <file>"))
    .description("copy the database into one file, also while the server runs; an existing file is replaced")
    .option(
      "--keep <count>",
      "<file> is a directory: the copy is named after the time, and the newest <count> stay",
      toCount,
    )
    .action(async (file: string, { keep, ...options }: AdministrationOptions & { readonly keep?: number }) => {
      const dataDir = dataDirOf(options);
      const path = keep === undefined ? file : await context.database.backupInto(dataDir, file, keep);
      if (keep === undefined) await context.database.backup(dataDir, file);
      printResult(context, options, { backup: path }, () => `backed up to ${path}; ${KEY_FILE_LEFT_OUT}`);
    });
  withAdministrationOptions(program.command("restore <file>"))
    .description(
      "replace the database with a backup and keep the old database beside it; the server must not be running",
    )
    .action(async (file: string, options: AdministrationOptions) => {
      const replaced = await context.database.restore(dataDirOf(options), file, isDataDirNamed(options));
      printResult(context, options, { restored: file, replaced: replaced ?? null }, () =>
        replaced === undefined
          ? `restored from ${file}; ${KEY_FILE_NEEDED}`
          : `restored from ${file}; the replaced database is kept in ${replaced}; ${KEY_FILE_NEEDED}`,
      );
    });
}
