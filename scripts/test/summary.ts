/** What a test run came to. */
export interface TestSummary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  /** Test files that could not be loaded or did not end, and errors outside any test. */
  readonly broken: readonly string[];
}

/** The counts alone, as the last line of a run. */
export function countsLine(summary: TestSummary): string {
  const skipped = summary.skipped.length > 0 ? `, ${summary.skipped.length} skipped` : "";
  return `${summary.passed} passed, ${summary.failed} failed${skipped}`;
}

/** Tests that were skipped for want of a program: the set-up before them has to install what they need. */
export function skippedForMissingProgram(summary: TestSummary): string[] {
  return summary.skipped.filter(({ reason }) => reason.includes("not installed")).map(({ name }) => name);
}

/** Whether the run is a success: something ran, nothing failed inside or outside a test, and nothing was left out. */
export function isSuccessful(summary: TestSummary): boolean {
  const { passed, failed, broken } = summary;
  return passed > 0 && failed === 0 && broken.length === 0 && skippedForMissingProgram(summary).length === 0;
}
