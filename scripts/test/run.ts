import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "../bundling/build.ts";
import { setUp } from "../setup/set-up.ts";
import type { Modules } from "./modules.ts";
import { needsOf } from "./needs.ts";
import { runChild } from "./run-child.ts";
import type { TestSummary } from "./summary.ts";

const REPORTER = fileURLToPath(new URL("reporter.ts", import.meta.url));
const SUMMARY = `.cache/test-summary-${process.pid}.json`;
const COMPILED = resolve(".cache/compiled-tests");

interface RunOptions {
  readonly isVerbose?: boolean;
  /** Options for vitest. */
  readonly options?: readonly string[];
}

/** Installs and builds what test files need, and nothing else. */
export async function prepare(modules: Modules, files: readonly string[]): Promise<void> {
  const needs = new Set(files.flatMap((file) => needsOf(modules, file)));
  await setUp([...needs].filter((need) => need !== "executables"));
  if (needs.has("executables")) await build({ onlyIfChanged: true });
}

/** Runs test files with vitest, whose output goes to this process's. */
export async function runTests(
  files: readonly string[],
  { isVerbose = false, options = [] }: RunOptions = {},
): Promise<TestSummary> {
  if (files.length === 0) return { passed: 0, failed: 0, skipped: [], broken: [] };
  mkdirSync(".cache", { recursive: true });
  rmSync(SUMMARY, { force: true });
  const reporters = [...(isVerbose ? ["--reporter=verbose"] : []), `--reporter=${REPORTER}`];
  const ended = await runChild("vitest", ["run", ...files, ...reporters, ...options], {
    stdio: "inherit",
    env: {
      ...process.env,
      TEST_SUMMARY: SUMMARY,
      // The other reporter prints the tests and what has failed.
      TEST_SUMMARY_ONLY: isVerbose ? "1" : "",
      // Ryuk, the clean-up container of testcontainers, is an image of Docker Hub; the tests clean up themselves.
      TESTCONTAINERS_RYUK_DISABLED: "true",
      // Tests start thousands of programs from their sources: compiled once, a command starts in a third of the time.
      NODE_COMPILE_CACHE: COMPILED,
    },
  });
  const summary = readSummary();
  rmSync(SUMMARY, { force: true });
  const isExplained = ended.exitCode === 0 || summary.failed > 0 || summary.broken.length > 0;
  return isExplained ? summary : { ...summary, broken: [`vitest ended with ${ended.exitCode ?? ended.signalCode}`] };
}

function readSummary(): TestSummary {
  try {
    return JSON.parse(readFileSync(SUMMARY, "utf8")) as TestSummary;
  } catch {
    return { passed: 0, failed: 0, skipped: [], broken: ["vitest ended without a summary"] };
  }
}
