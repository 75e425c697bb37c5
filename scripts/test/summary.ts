/** The outcome of a test run. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Test files that could not be loaded or did not end, and errors outside any test. */
  readonly broken: readonly string[];
}

/** Returns the outcome of two runs together. */
export function sum(one: TestSummary, other: TestSummary): TestSummary {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: [...one.skipped, ...other.skipped],
    broken: [...one.broken, ...other.broken],
  };
}

/** Returns the counts, for the last line of a run. */
export function countsLine(summary: TestSummary): string {
  const skipped = summary.skipped.length > 0 ? `, ${summary.skipped.length} skipped` : "";
  return `${summary.passed} passed, ${summary.failed} failed${skipped}`;
}

/** Returns the tests skipped for a missing program, which the set-up should have installed. */
function skippedForMissingProgram(summary: TestSummary): string[] {
  return summary.skipped.filter(({ reason }) => reason.includes("not installed")).map(({ name }) => name);
}

/** Whether the run is a success: tests ran, nothing failed, and nothing was skipped for a missing program. */
export function isSuccessful(summary: TestSummary): boolean {
  const { passed, failed, broken } = summary;
  return passed > 0 && failed === 0 && broken.length === 0 && skippedForMissingProgram(summary).length === 0;
}

/** Prints what was skipped and what is broken, then the counts as the last line, and sets the exit code. */
export function report(summary: TestSummary): void {
  for (const { name, reason } of summary.skipped) console.log(`skipped: ${name}: ${reason}`);
  for (const name of skippedForMissingProgram(summary))
    console.log(`broken: ${name}: the set-up did not install a required program`);
  for (const reason of summary.broken) console.log(`broken: ${reason}`);
  process.exitCode = isSuccessful(summary) ? 0 : 1;
  console.log(countsLine(summary));
}
