import { writeFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import type { TestSummary } from "./summary.ts";

/** Writes the run's summary as JSON to the file named by TEST_SUMMARY, with the reasons of skipped tests. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd: NonNullable<Reporter["onTestRunEnd"]> = (modules, unhandledErrors) => {
    const path = process.env["TEST_SUMMARY"];
    if (path === undefined) throw new Error("TEST_SUMMARY names no file");
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const summary: TestSummary = {
      passed: tests.filter((test) => test.result().state === "passed").length,
      failed: tests.filter((test) => test.result().state === "failed").length,
      skipped: tests.filter((test) => test.result().state === "skipped").map(describeSkipped),
      broken: [
        ...modules.filter(isBroken).map((module) => `${module.relativeModuleId}: ${reasonOf(module)}`),
        ...tests.filter((test) => test.result().state === "pending").map((test) => `${test.fullName}: did not end`),
        ...unhandledErrors.map((error) => `outside any test: ${error.message}`),
      ],
    };
    writeFileSync(path, JSON.stringify(summary));
  };
}

function describeSkipped(test: TestCase): TestSummary["skipped"][number] {
  const result = test.result();
  const note = result.state === "skipped" ? result.note : undefined;
  return { name: `${test.module.relativeModuleId} > ${test.fullName}`, reason: note ?? "no reason given" };
}

function isBroken(module: TestModule): boolean {
  const state = module.state();
  return module.errors().length > 0 || state === "pending" || state === "queued";
}

function reasonOf(module: TestModule): string {
  return module.errors()[0]?.message ?? "did not end";
}
