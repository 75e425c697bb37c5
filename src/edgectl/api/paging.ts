import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** Fetches one page, or with `all` all pages from the cursor on. @returns the items and the cursor of the next page */
export async function fetchPages<T>(
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
  options: { readonly cursor: string | undefined; readonly all: boolean },
): Promise<Page<T>> {
  let page = await fetchPage(options.cursor);
  if (!options.all) return page;
  const items = [...page.items];
  while (page.next !== null) {
    const cursor = page.next;
    page = await fetchPage(cursor);
    items.push(...page.items);
    if (page.next === cursor) {
      throw new Failure("The server keeps sending the same page.", { exitCode: EXIT.failed });
    }
  }
  return { items, next: null };
}
