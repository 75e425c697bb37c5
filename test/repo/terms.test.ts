import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { projectFiles } from "../../scripts/test/modules.ts";

/** Words that earlier code used for a term of docs/glossary.md, and the term. */
const RETIRED: Readonly<Record<string, string>> = {
  askOrRecall: "liveOrStored",
  askedInVain: "unreachable",
  foundling: "orphan",
  happenings: "activities",
  inquir: "outcome query",
  isUndone: "mustRollBack, isRolledBack",
  keeper: "reconciler",
  knock: "ping",
  makeup: "container config",
  mortal: "crash point",
  patient: "probe context",
  purse: "budget",
  reaper: "crash injector",
  rival: "concurrent deployment",
  surroundings: "host state",
  tellOf: "report",
  teller: "reporter",
  wayBack: "rollback",
};

/** Prefixes of bounds and times other than MAX_ and MIN_. */
const RETIRED_PREFIXES = ["MOST", "LONGEST", "SHORTEST", "LARGEST", "SMALLEST", "WIDEST", "NARROWEST", "LEAST"];

const isText = (path: string): boolean =>
  /\.(?:ts|tsx|css|html|md|sh|json|service)$/.test(path) && !path.endsWith("terms.test.ts");

describe("the terms of the glossary", async () => {
  const paths = projectFiles("src", "scripts", "test", "docs", "systemd", "packaging", "README.md", "CHANGELOG.md");
  const files = paths.filter(isText);
  const texts = await Promise.all(files.map(async (path) => ({ path, text: await readFile(path, "utf8") })));
  const uses = (pattern: RegExp): string[] => texts.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

  it.each(Object.entries(RETIRED))("%s is called %s", (word) => {
    expect(uses(new RegExp(`\\b${word}`, "i"))).toEqual([]);
  });

  it("bounds are MAX_ and MIN_", () => {
    expect(uses(new RegExp(`\\b(?:${RETIRED_PREFIXES.join("|")})_[A-Z]`))).toEqual([]);
  });
});

/** Subjects that name no actor. */
const UNNAMED = /\b(?:nobody|somebody|everybody|whoever)\b.*/gi;

it("comments, messages and documents name the actor", async () => {
  const paths = projectFiles("src", "scripts", "docs", "systemd", "packaging").filter(
    (path) => /\.(?:tsx?|css|html|md|mjs|sh|json|ya?ml|service)$/.test(path) || !/\.\w+$/.test(path),
  );
  const roots = ["README.md", "CONTRIBUTING.md", "SECURITY.md"];
  const files = [...paths, ...roots];
  const texts = await Promise.all(files.map(async (path) => ({ path, text: await readFile(path, "utf8") })));
  expect(files.length).toBeGreaterThan(1_000);
  expect(texts.flatMap(({ path, text }) => (text.match(UNNAMED) ?? []).map((found) => `${path}: ${found}`))).toEqual(
    [],
  );
});
