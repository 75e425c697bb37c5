import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles } from "../../scripts/test/modules.ts";
import { anchorsOf, linksOf } from "../support/repo/markdown.ts";

describe("links in the documentation", () => {
  const pages = projectFiles().filter((path) => path.endsWith(".md"));

  it.each(pages)("%s: files and headings it links to exist", async (page) => {
    const links = linksOf(await readFile(page, "utf8")).filter((link) => !/^[a-z]+:/.test(link));
    const broken = await Promise.all(links.map(async (link) => ((await resolves(page, link)) ? [] : [link])));
    expect(broken.flat()).toEqual([]);
  });

  it("a link to a file or heading that is not there is found", async () => {
    expect(await resolves("docs/page.md", "no-such-file.md")).toBe(false);
    expect(await resolves("docs/architecture.md", "#no-such-heading")).toBe(false);
  });
});

async function resolves(page: string, link: string): Promise<boolean> {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? page : join(dirname(page), decodeURIComponent(path));
  if (!existsSync(target)) return false;
  return anchor === undefined || anchorsOf(await readFile(target, "utf8")).includes(anchor);
}
