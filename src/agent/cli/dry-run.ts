/** What the option does. */
export const DRY_RUN = "check everything, say what would be downloaded, and change nothing";

/** The query by which the daemon is asked for a dry run, where that was asked for here. */
export function dryRunQuery(options: Readonly<Record<string, unknown>>): string {
  return options["dryRun"] === true ? "?dry_run=true" : "";
}
