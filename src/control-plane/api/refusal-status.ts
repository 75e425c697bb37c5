import { type ErrorCode, errorEntry } from "../../protocol/errors.ts";

// Codes that end a deployment otherwise, within a stream that began well.
const ELSEWHERE: Partial<Record<ErrorCode, number>> = { DeviceNotReachable: 503, EngineUnavailable: 503 };

/** HTTP status of an answer that consists of this error, to a request that asked for no deployment. */
export function refusalStatus(code: ErrorCode): number {
  return ELSEWHERE[code] ?? errorEntry(code).http;
}
