import { writeFileSync } from "node:fs";
import { MinimalReporter, type Reporter, type TestCase, type TestModule, type Vitest } from "vitest/node";
import type { TestSummary } from "./summary.ts";

/** Number of files named as the slowest. */
const SLOWEST = 10;
const DOTS_IN_A_LINE = 100;
const NO_REASON = "no reason given";

/**
 * Prints a dot for each file that has passed, the failures, and the slowest files. Writes the run's summary as JSON to the
 * file named by TEST_SUMMARY, with the reasons of skipped tests.
 */
export default class TestReporter extends MinimalReporter {
  #files = 0;
  readonly #isSummaryOnly = Boolean(process.env["TEST_SUMMARY_ONLY"]);

  override onInit(vitest: Vitest): void {
    if (this.#isSummaryOnly) this.ctx = vitest;
    else super.onInit(vitest);
  }

  override onTestModuleEnd(module: TestModule): void {
    if (this.#isSummaryOnly) return;
    super.onTestModuleEnd(module);
    process.stdout.write(module.state() === "failed" ? "F" : ".");
    if (++this.#files % DOTS_IN_A_LINE === 0) process.stdout.write("\n");
  }

  override onTestRunEnd(...args: Parameters<NonNullable<Reporter["onTestRunEnd"]>>): void {
    const [modules, unhandledErrors] = args;
    if (!this.#isSummaryOnly) {
      process.stdout.write("\n");
      super.onTestRunEnd(...args);
    }
    for (const line of slowest(modules)) this.log(line);
    const path = process.env["TEST_SUMMARY"];
    if (path === undefined) throw new Error("TEST_SUMMARY names no file");
    const { skipped, ...summary } = summarize(modules, unhandledErrors, this.ctx.config.bail ?? 0);
    // Tests that the command line has not asked for are not skipped tests.
    const isNamed = this.ctx.config.testNamePattern !== undefined;
    const reported = skipped.filter(({ reason }) => !isNamed || reason !== NO_REASON);
    writeFileSync(path, JSON.stringify({ ...summary, skipped: reported }));
  }
}

function slowest(modules: readonly TestModule[]): string[] {
  const timed = modules.map((module) => ({ module, ms: durationOf(module) })).toSorted((a, b) => b.ms - a.ms);
  return timed
    .slice(0, SLOWEST)
    .map(({ module, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${module.relativeModuleId}`);
}

function durationOf(module: TestModule): number {
  const { collectDuration, setupDuration, duration } = module.diagnostic();
  return collectDuration + setupDuration + duration;
}

type Errors = Parameters<NonNullable<Reporter["onTestRunEnd"]>>[1];

/** @param bail number of failures after which no further test begins; 0: all run */
function summarize(modules: readonly TestModule[], unhandledErrors: Errors, bail: number): TestSummary {
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const inState = (state: string): TestCase[] => tests.filter((test) => test.result().state === state);
  const failed = inState("failed").length;
  // Then the others have not begun.
  const isCutShort = bail > 0 && failed >= bail;
  return {
    passed: inState("passed").length,
    failed,
    skipped: inState("skipped").map(describeSkipped),
    broken: [
      ...modules
        .filter((module) => isBroken(module, isCutShort))
        .map((module) => `${module.relativeModuleId}: ${reasonOf(module)}`),
      ...(isCutShort ? [] : inState("pending")).map((test) => `${test.fullName}: did not end`),
      ...unhandledErrors.map((error) => `outside any test: ${error.message}`),
    ],
  };
}

function describeSkipped(test: TestCase): TestSummary["skipped"][number] {
  const result = test.result();
  const note = result.state === "skipped" ? result.note : undefined;
  return { name: `${test.module.relativeModuleId} > ${test.fullName}`, reason: note ?? NO_REASON };
}

function isBroken(module: TestModule, isCutShort: boolean): boolean {
  const state = module.state();
  return module.errors().length > 0 || (!isCutShort && (state === "pending" || state === "queued"));
}

function reasonOf(module: TestModule): string {
  return module.errors()[0]?.message ?? "did not end";
}
