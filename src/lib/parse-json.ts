/** Parses JSON. Returns `undefined` if the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Returns the position in an error of `JSON.parse`, such as `line 2 column 5`, without the text that its message quotes. */
export function jsonErrorPosition(error: unknown): string | undefined {
  return /line \d+ column \d+|position \d+/.exec(error instanceof Error ? error.message : "")?.[0];
}
