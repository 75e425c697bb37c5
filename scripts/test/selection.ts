import { relative } from "node:path";
import { affectedTests, changedSince } from "./affected.ts";
import type { Modules } from "./modules.ts";
import type { Tiers } from "./tiers.ts";

/** Options of vitest whose value is the next argument. */
const WITH_VALUE: ReadonlySet<string> = new Set(["--project", "-p", "--testNamePattern", "-t"]);

/** What a command line of the tests asks for. */
export interface Selection {
  readonly files: readonly string[];
  /** Whether each test is shown, not only each file. */
  readonly isVerbose: boolean;
  /** Options for vitest. */
  readonly options: readonly string[];
}

/** A command line that selects no test. The message is one line for the person who typed it. */
export class NothingSelected extends Error {}

/**
 * Selects test files. Without a path or project it is the tier's; `npm test` with one takes it from all tests.
 *
 * @param args paths or parts of paths, `--project NAME`, `--changed` or `--changed=COMMIT`, `--verbose`, and any option of
 *   vitest
 * @throws `NothingSelected`
 */
export function select(
  tier: keyof Tiers,
  args: readonly string[],
  {
    modules,
    tiers,
    changes = changedSince,
  }: { modules: Modules; tiers: Tiers; changes?: (commit: string) => string[] },
): Selection {
  const { filters, projects, commit, isVerbose, options } = read(args);
  const isNarrowed = filters.length > 0 || projects.length > 0;
  const candidates = tier === "main" && isNarrowed ? tiers.all : tiers[tier];
  const strange = projects.find((name) => !tiers.all.some((path) => path.split("/")[1] === name));
  if (strange !== undefined) throw new NothingSelected(`no test file of ${strange}`);
  const unknown = filters.find((filter) => !candidates.some((path) => path.includes(filter)));
  if (unknown !== undefined) {
    const elsewhere = tiers.all.some((path) => path.includes(unknown));
    throw new NothingSelected(
      elsewhere
        ? `${unknown} is not in this tier: npm test -- ${unknown} runs it`
        : `no test file matches ${unknown}; the value of an option is written with =, such as --bail=1 or --changed=main`,
    );
  }
  const named = candidates.filter(
    (path) =>
      (filters.length === 0 || filters.some((filter) => path.includes(filter))) &&
      (projects.length === 0 || projects.includes(path.split("/")[1] ?? "")),
  );
  const files = commit === undefined ? named : affectedTests(modules, changesSince(commit, changes), named);
  if (files.length === 0 && commit === undefined)
    throw new NothingSelected(`no test file of ${projects.join(", ")} matches ${filters.join(", ")}`);
  return { files, isVerbose, options };
}

function changesSince(commit: string, changes: (commit: string) => string[]): string[] {
  try {
    return changes(commit);
  } catch {
    throw new NothingSelected(`git cannot compare with ${commit === "" ? "nothing" : commit}`);
  }
}

interface CommandLine {
  readonly filters: readonly string[];
  readonly projects: readonly string[];
  readonly commit: string | undefined;
  readonly isVerbose: boolean;
  readonly options: readonly string[];
}

function read(args: readonly string[]): CommandLine {
  const filters: string[] = [];
  const projects: string[] = [];
  const options: string[] = [];
  let commit: string | undefined;
  let isVerbose = false;
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? "";
    const [name = "", value] = WITH_VALUE.has(argument) ? [argument, args[++index]] : argument.split(/=(.*)/s);
    if (WITH_VALUE.has(name) && value === undefined) throw new NothingSelected(`${name} needs a value`);
    if (name === "--project" || name === "-p") projects.push(value ?? "");
    else if (name === "--changed") commit = value ?? "HEAD";
    else if (name === "--verbose") isVerbose = true;
    else if (!argument.startsWith("-")) filters.push(asFilter(argument));
    else if (WITH_VALUE.has(name)) options.push("--testNamePattern", value ?? "");
    else options.push(argument);
  }
  return { filters, projects, commit, isVerbose, options };
}

/** Paths as people have them at hand: absolute, below `./`, or with the number of a line. */
function asFilter(argument: string): string {
  return relative(".", argument).replace(/:\d+$/, "");
}
