/** The outcome of a test run. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Test files that could not be loaded or did not end, and errors outside any test. */
  readonly broken: readonly string[];
}

/** Returns the counts, for the last line of a run. */
export function countsLine(summary: TestSummary): string {
  const skipped = summary.skipped.length > 0 ? `, ${summary.skipped.length} skipped` : "";
  return `${summary.passed} passed, ${summary.failed} failed${skipped}`;
}

/** Returns the tests skipped for a missing program, which the set-up should have installed. */
export function skippedForMissingProgram(summary: TestSummary): string[] {
  return summary.skipped.filter(({ reason }) => reason.includes("not installed")).map(({ name }) => name);
}

/** Whether the run is a success: tests ran, nothing failed, and nothing was skipped for a missing program. */
export function isSuccessful(summary: TestSummary): boolean {
  const { passed, failed, broken } = summary;
  return passed > 0 && failed === 0 && broken.length === 0 && skippedForMissingProgram(summary).length === 0;
}
