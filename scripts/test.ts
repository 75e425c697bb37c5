import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "./bundling/build.ts";
import { needsExecutables } from "./test/selection.ts";
import { countsLine, isSuccessful, skippedForMissingProgram, type TestSummary } from "./test/summary.ts";

const REPORTER = fileURLToPath(new URL("test/reporter.ts", import.meta.url));
const SUMMARY = ".cache/test-summary.json";
const args = process.argv.slice(2);

if (needsExecutables(args)) await build({ onlyIfChanged: true });

mkdirSync(".cache", { recursive: true });
rmSync(SUMMARY, { force: true });
const result = spawnSync("vitest", ["run", "--reporter=default", `--reporter=${REPORTER}`, ...args], {
  stdio: "inherit",
  // Ryuk, the clean-up container of testcontainers, is an image of Docker Hub; the tests clean up themselves.
  env: { ...process.env, TEST_SUMMARY: SUMMARY, TESTCONTAINERS_RYUK_DISABLED: "true" },
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
