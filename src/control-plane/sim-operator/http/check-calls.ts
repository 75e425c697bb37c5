import { type CheckLine, SimOperatorError } from "../sim-operator.ts";
import type { OperatorHttp } from "./operator-http.ts";

/** A permission that the service needs. */
export interface CheckCall extends Pick<CheckLine, "what" | "allows"> {
  /** A read that the permission covers; `undefined`: only changes, which are not tried. */
  readonly path: string | undefined;
}

/** Makes these reads and says of each whether the operator allows it. */
export async function checkCalls(
  http: OperatorHttp,
  signal: AbortSignal,
  calls: readonly CheckCall[],
): Promise<readonly CheckLine[]> {
  const lines: CheckLine[] = [];
  for (const { path, ...call } of calls) lines.push({ ...call, ...(await tryRead(http, signal, path)) });
  return lines;
}

async function tryRead(
  http: OperatorHttp,
  signal: AbortSignal,
  path: string | undefined,
): Promise<Pick<CheckLine, "isAllowed" | "answer">> {
  if (path === undefined) return { isAllowed: undefined, answer: "not tried: it would change a SIM" };
  try {
    const { status } = await http.send({ method: "GET", path }, signal);
    return { isAllowed: true, answer: `it answered ${status}` };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SimOperatorError)) throw error;
    return { isAllowed: false, answer: error.message };
  }
}
