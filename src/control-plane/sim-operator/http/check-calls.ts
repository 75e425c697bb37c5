import { type CheckLine, SimOperatorError } from "../sim-operator.ts";
import type { OperatorHttp } from "./operator-http.ts";

/** Makes these reads and says of each whether the operator allows it. */
export async function checkCalls(
  http: OperatorHttp,
  signal: AbortSignal,
  calls: readonly (readonly [what: string, path: string])[],
): Promise<readonly CheckLine[]> {
  const lines: CheckLine[] = [];
  for (const [what, path] of calls) {
    try {
      await http.send({ method: "GET", path }, signal);
      lines.push({ what, isAllowed: true, answer: "it answered as expected" });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof SimOperatorError)) throw error;
      lines.push({ what, isAllowed: false, answer: error.message });
    }
  }
  return lines;
}
