/** Help text of the option. */
export const DRY_RUN = "check everything, say what would be downloaded, and change nothing";

/** Returns the query of the request: `?dry_run=true` if the option is set, or nothing. */
export function dryRunQuery(options: Readonly<Record<string, unknown>>): string {
  return options["dryRun"] === true ? "?dry_run=true" : "";
}
