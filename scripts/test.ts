import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "./bundling/build.ts";
import { needsExecutables } from "./test/selection.ts";
import { countsLine, isSuccessful, skippedForMissingProgram, type TestSummary } from "./test/summary.ts";

const REPORTER = fileURLToPath(new URL("test/reporter.ts", import.meta.url));
const SUMMARY = ".cache/test-summary.json";
const COMPILED = resolve(".cache/compiled-tests");
const args = process.argv.slice(2);

if (needsExecutables(args)) await build({ onlyIfChanged: true });

mkdirSync(".cache", { recursive: true });
rmSync(SUMMARY, { force: true });
const result = spawnSync("vitest", ["run", "--reporter=default", `--reporter=${REPORTER}`, ...args], {
  stdio: "inherit",
  env: {
    ...process.env,
    TEST_SUMMARY: SUMMARY,
    // Ryuk, the clean-up container of testcontainers, is an image of Docker Hub; the tests clean up themselves.
    TESTCONTAINERS_RYUK_DISABLED: "true",
    // Tests start thousands of programs from their sources: compiled once, a command starts in a third of the time.
    NODE_COMPILE_CACHE: COMPILED,
  },
});

const summary = readSummary();
for (const { name, reason } of summary.skipped) console.log(`skipped: ${name}: ${reason}`);
for (const name of skippedForMissingProgram(summary))
  console.log(`broken: ${name}: the set-up did not install a required program`);
for (const reason of summary.broken) console.log(`broken: ${reason}`);
process.exitCode = result.status === 0 && isSuccessful(summary) ? 0 : 1;
console.log(countsLine(summary));

function readSummary(): TestSummary {
  try {
    return JSON.parse(readFileSync(SUMMARY, "utf8")) as TestSummary;
  } catch {
    return { passed: 0, failed: 0, skipped: [], broken: ["vitest ended without a summary"] };
  }
}
