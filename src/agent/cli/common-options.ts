import { InvalidArgumentError } from "commander";

/** Help text of `--dry-run`. */
export const DRY_RUN = "check everything, say what would be downloaded, and change nothing";

/** Returns the query of the request: `?dry_run=true` if the option is set, or nothing. */
export function dryRunQuery(options: Readonly<Record<string, unknown>>): string {
  return options["dryRun"] === true ? "?dry_run=true" : "";
}

/** Parses an option that is a count. */
export function parseCount(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number from 0 to 99999.");
}
