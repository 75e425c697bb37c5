import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { projectFiles } from "../../scripts/test/modules.ts";
import { linksOf, tablesOf } from "../support/repo/markdown.ts";
import { foldersOfTree, pathsNamedIn } from "../support/repo/named-paths.ts";

const FILES = projectFiles();
const FOLDERS = [...new Set(FILES.flatMap(parentsOf))];
const PAGES = FILES.filter((path) => /^(?:README|CONTRIBUTING|SECURITY)\.md$|^docs\/.*\.md$/.test(path));

/** Folders that documents name and that are no part of the project: of a device, of a build, of a user. */
const ELSEWHERE = new Set(["compiled/", "dist/", "dist/packages/", "secrets/"]);

const read = (path: string): string => readFileSync(path, "utf8");

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === "." ? [] : [`${parent}/`, ...parentsOf(parent)];
}

/** Whether a file or folder of the project has this path, or one that ends with it. */
function exists(name: string): boolean {
  const isNamed = (path: string): boolean => path === name || path.endsWith(`/${name}`);
  return FILES.some(isNamed) || FOLDERS.some((path) => isNamed(path) || isNamed(path.slice(0, -1)));
}

describe("files and folders that documents name exist", () => {
  it.each(PAGES)("%s", (page) => {
    const missing = pathsNamedIn(read(page)).filter((name) => !exists(name) && !ELSEWHERE.has(name));
    expect(missing).toEqual([]);
  });

  it("pages that comments and messages name", () => {
    const texts = FILES.filter((path) => /^(?:src|scripts|packaging|systemd|Dockerfile)/.test(path)).map(read);
    const pages = texts.flatMap((text) => text.match(/\bdocs\/[\w/-]+\.md\b/g) ?? []);
    expect(pages.length).toBeGreaterThan(5);
    expect(pages.filter((page) => !FILES.includes(page))).toEqual([]);
  });

  it("a name that is out of date is found", () => {
    expect(pathsNamedIn("`core/no-such-file.ts`, `agent/status/` and `src/nowhere`").filter(exists)).toEqual([]);
    expect(pathsNamedIn("`test/repo/links.test.ts`, `agent/core/` and `scripts/test`").filter(exists)).toHaveLength(3);
  });
});

describe("docs/architecture.md is the map of the source", () => {
  const [, tree = ""] = /```text\n(src\/\n[\s\S]*?)```/.exec(read("docs/architecture.md")) ?? [];
  const named = foldersOfTree(tree);

  it("its tree names each folder once", () => {
    expect(named.filter((folder, index) => named.indexOf(folder) !== index)).toEqual([]);
  });

  it("the folders of its tree exist", () => {
    expect(named.filter((folder) => !FOLDERS.includes(folder))).toEqual([]);
  });

  it.each(["", "src/", "src/agent/", "src/control-plane/", "src/edgectl/", "src/console/"])(
    "it names each folder of %j",
    (parent) => {
      const folders = FOLDERS.filter((folder) => `${dirname(folder)}/` === (parent === "" ? "./" : parent));
      const kept = folders.filter((folder) => !folder.startsWith(".") && !NOT_SOURCE.has(folder));
      expect(kept.filter((folder) => !named.includes(folder))).toEqual([]);
    },
  );
});

/** Folders of the root that hold no code. */
const NOT_SOURCE = new Set(["docs/", "examples/", "man/"]);

describe("pages are found", () => {
  it("docs/README.md links each page", () => {
    const pages = readdirSync("docs").filter((name) => name.endsWith(".md") && name !== "README.md");
    const linked = new Set(linksOf(read("docs/README.md")).map((link) => link.split("#")[0]));
    expect(pages.filter((page) => !linked.has(page))).toEqual([]);
  });

  it("docs/decisions/README.md links each record, with the number and title of the record", () => {
    const records = readdirSync("docs/decisions").filter((name) => name !== "README.md");
    const index = read("docs/decisions/README.md").replaceAll(/\s+/g, " ");
    const title = (name: string): string => (/^# \d{4} (.*)$/m.exec(read(`docs/decisions/${name}`)) ?? [])[1] ?? "";
    const missing = records.filter((name) => !index.includes(`- [${name.slice(0, 4)}](${name}) ${title(name)}`));
    expect(missing).toEqual([]);
    expect(new Set(records.map((name) => name.slice(0, 4))).size).toBe(records.length);
  });

  it.each(readdirSync("docs/decisions").filter((name) => name !== "README.md"))(
    "docs/decisions/%s has context, decision and consequences",
    (name) => {
      const headings = [...read(`docs/decisions/${name}`).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
      expect(headings).toEqual(["Context", "Decision", "Consequences"]);
    },
  );

  it("README.md has at most 120 lines", () => {
    expect(read("README.md").split("\n").length - 1).toBeLessThanOrEqual(120);
  });
});

it("the figures of README.md are those of docs/benchmarks.md", () => {
  const table = tablesOf(read("README.md")).find(({ header }) => header.includes("figure"));
  const figures = (table?.rows ?? []).flatMap(
    ([, figure = ""]) => figure.match(/\d[\d.,]*(?: (?:ms|s|MB|KiB)\b)?/g) ?? [],
  );
  expect(figures.length).toBeGreaterThan(5);
  const benchmarks = read("docs/benchmarks.md");
  expect(figures.filter((figure) => !benchmarks.includes(figure))).toEqual([]);
});
