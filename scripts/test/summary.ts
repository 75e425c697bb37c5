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

/** Whether the run is a success: something ran, and nothing failed inside or outside a test. */
export function isGood(summary: TestSummary): boolean {
  return summary.passed > 0 && summary.failed === 0 && summary.broken.length === 0;
}
