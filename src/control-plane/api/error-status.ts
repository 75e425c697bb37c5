import { type ErrorCode, errorEntry } from "../../protocol/errors.ts";

// Codes that end a deployment otherwise, within a stream that began well.
const STATUS_OVERRIDES: Partial<Record<ErrorCode, number>> = { DeviceNotReachable: 503, EngineUnavailable: 503 };

/** HTTP status of an answer that consists of this error, to a request that asked for no deployment. */
export function errorStatus(code: ErrorCode): number {
  return STATUS_OVERRIDES[code] ?? errorEntry(code).http;
}
