import { type JsonKind, parseBoundedJson } from "../protocol/values/bounded-json.ts";

/** Parses JSON from outside. Returns `undefined` if it is not valid, or exceeds a bound of its kind. */
export function parseJson(json: Uint8Array | string, kind: JsonKind): unknown {
  try {
    return parseBoundedJson(json, kind);
  } catch {
    return undefined;
  }
}

/** Returns the position in an error of `JSON.parse`, such as `line 2 column 5`, without the text that its message quotes. */
export function jsonErrorPosition(error: unknown): string | undefined {
  return /line \d+ column \d+|position \d+/.exec(error instanceof Error ? error.message : "")?.[0];
}
