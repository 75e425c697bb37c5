import { expect, test } from "vitest";
import { fetchPages } from "../../../src/edgectl/api/client.ts";

const PAGES: Readonly<Record<string, { readonly items: readonly number[]; readonly next: string | null }>> = {
  start: { items: [], next: "a" },
  a: { items: [], next: "b" },
  b: { items: [1], next: "c" },
  c: { items: [2], next: null },
};
const fetchPage = async (cursor = "start") => PAGES[cursor] ?? { items: [], next: null };

test("a page without items leads on to the first one that has some, with the cursor of what follows", async () => {
  expect(await fetchPages(fetchPage, { cursor: undefined, all: false })).toEqual({ items: [1], next: "c" });
  expect(await fetchPages(fetchPage, { cursor: "c", all: false })).toEqual({ items: [2], next: null });
  expect(await fetchPages(fetchPage, { cursor: undefined, all: true })).toEqual({ items: [1, 2], next: null });
});
