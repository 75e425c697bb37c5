import type { Command } from "commander";
import { MAX_PAGE_SIZE } from "../../protocol/limits.ts";
import { fetchPages, type Page } from "../api/paging.ts";
import type { Printer } from "../printer.ts";
import { wholeNumber } from "./options.ts";

/** The options of a paged list, as commander passes them. */
export interface PagingOptions {
  readonly limit?: number;
  readonly cursor?: string;
  readonly all?: boolean;
}

/** Adds `--limit`, `--cursor` and `--all`. */
export function addPagingOptions(command: Command): Command {
  return command
    .option("--limit <n>", `how many at most, 1 to ${MAX_PAGE_SIZE} (50 if not given)`, wholeNumber(1, MAX_PAGE_SIZE))
    .option("--cursor <cursor>", "go on where an earlier list ended")
    .option("--all", "all of them, however many");
}

/** Fetches the page the options select, or all pages. `--all` without `--limit` uses the largest page size. */
export function listPages<T>(
  { limit, cursor, all = false }: PagingOptions,
  fetchPage: (position: {
    readonly limit: number | undefined;
    readonly cursor: string | undefined;
  }) => Promise<Page<T>>,
): Promise<Page<T>> {
  const pageSize = limit ?? (all ? MAX_PAGE_SIZE : undefined);
  return fetchPages((from) => fetchPage({ limit: pageSize, cursor: from }), { cursor, all });
}

/** Says how to get the items that were not fetched, if there are any. @param next cursor of the next page */
export function noteMorePages(printer: Printer, next: string | null): void {
  if (next === null || printer.json) return;
  printer.note(`There are more. All of them: --all. The next ones: --cursor ${next}`);
}
