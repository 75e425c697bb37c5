import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { leadInsOf, linksOf, tablesOf } from "../support/repo/markdown.ts";

/** The number of promises of each page: rows of tables whose first column is `promise`. */
const PROMISES = { "docs/guarantees.md": 183, "docs/security.md": 98 };

const CHANGED =
  "A new promise raises the number here. One that is withdrawn on purpose lowers it, with an entry in CHANGELOG.md and a " +
  'line under "not promised" on its page. Otherwise a row was lost: bring it back, with the test that holds it.';

describe.each(Object.entries(PROMISES))("%s", (page, count) => {
  it("has lost no promise", async () => {
    expect(promisesOf(await readFile(page, "utf8")), CHANGED).toHaveLength(count);
  });

  it("names for each promise tests that are there", async () => {
    expect(faultsOf(page, await readFile(page, "utf8"))).toEqual([]);
  });
});

describe("docs/guarantees.md", () => {
  it("has a promise for each of the bold words that begin a paragraph", async () => {
    const markdown = await readFile("docs/guarantees.md", "utf8");
    expect(leadInsOf(markdown).length).toBeGreaterThan(20);
    expect(leadInsWithoutPromise(markdown)).toEqual([]);
  });
});

const HEADER = "| promise | ensured by | tested by |\n| --- | --- | --- |\n";
const OWN = "[promises](../test/repo/promises.test.ts)";

describe("the checks", () => {
  it("find promises in tables of promises, and only there", () => {
    const others = `| asset | promise |\n| --- | --- |\n| a | b |\n\n\`\`\`md\n${HEADER}| in code | x | ${OWN} |\n\`\`\`\n`;
    const tables = `${HEADER}| one | x | ${OWN} |\n| two \\| a half | x | y |\n\nText.\n\n${others}\n${HEADER}| three | x | y |\n`;
    expect(promisesOf(tables).map(({ promise }) => promise)).toEqual(["one", "two \\| a half", "three"]);
  });

  it.each([
    ["no test", "a review", "names no test"],
    ["no cell for it", undefined, "names no test"],
    ["a link to a page only", "[guarantees](guarantees.md#how-they-are-tested)", "names no test"],
    ["a test that is gone", `${OWN}, [b](../test/repo/gone.test.ts)`, "../test/repo/gone.test.ts is not there"],
    ["a page that is gone", `${OWN}, [b](gone.md)`, "gone.md is not there"],
  ])("find a promise with %s", (_what, tests, fault) => {
    const row = `| It holds. | see ${OWN} |${tests === undefined ? "" : ` ${tests} |`}`;
    expect(faultsOf("docs/page.md", `${HEADER}${row}\n`)).toEqual([`It holds.: ${fault}`]);
  });

  it("find nothing wrong with a promise that has its tests", () => {
    expect(faultsOf("docs/page.md", `${HEADER}| It holds. | x | ${OWN}, [page](guarantees.md#time) |\n`)).toEqual([]);
  });

  it("find bold words without a promise", () => {
    const text = "1. **One end.** It ends.\n\n**After `Fail`** nothing.\n\n**Time.** Late, **not** early.\n\n";
    const rows = `| After \`Fail\`: nothing | x | ${OWN} |\n| Timeless: words | x | ${OWN} |\n`;
    expect(leadInsWithoutPromise(`${text}${HEADER}${rows}`)).toEqual(["One end", "Time"]);
  });
});

interface PromiseRow {
  readonly promise: string;
  /** Targets of the links in the column of its tests. */
  readonly links: readonly string[];
}

function promisesOf(markdown: string): PromiseRow[] {
  const tables = tablesOf(markdown).filter(({ header }) => header[0] === "promise");
  return tables.flatMap(({ header, rows }) =>
    rows.map((cells) => ({ promise: cells[0] ?? "", links: linksOf(cells[header.indexOf("tested by")] ?? "") })),
  );
}

function faultsOf(page: string, markdown: string): string[] {
  return promisesOf(markdown).flatMap(({ promise, links }) => {
    const missing = links.filter((link) => !existsSync(join(dirname(page), link.replace(/#.*$/, ""))));
    const faults = missing.map((link) => `${link} is not there`);
    if (!links.some((link) => link.endsWith(".test.ts"))) faults.push("names no test");
    return faults.map((fault) => `${promise}: ${fault}`);
  });
}

/** Words that begin a paragraph, and with which no promise begins. */
function leadInsWithoutPromise(markdown: string): string[] {
  const promises = promisesOf(markdown);
  return leadInsOf(markdown).filter((leadIn) => !promises.some(({ promise }) => promise.startsWith(`${leadIn}: `)));
}
