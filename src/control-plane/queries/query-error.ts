import { truncateMessage } from "../../protocol/deployment-event.ts";
import { EdgeError, type ErrorCode } from "../../protocol/errors.ts";

// What a query can end with that means to the client what it says.
const PASSED_THROUGH_CODES: ReadonlySet<ErrorCode> = new Set([
  "AppNotFound",
  "DeviceNotReachable",
  "EngineUnavailable",
  // Not from a device: the service itself stops.
  "ServiceUnavailable",
]);

/** How a query that the device ended is told to the client. */
export function toQueryError(error: EdgeError): EdgeError {
  if (PASSED_THROUGH_CODES.has(error.code)) return error;
  return new EdgeError("DeviceFailed", truncateMessage(error.message), { device_code: error.code });
}

/** The device answered something that is no answer to the question. */
export function invalidAnswer(): EdgeError {
  return new EdgeError("DeviceFailed", "The device's answer could not be understood.");
}

/** The device sent more than it was asked for. */
export function excessiveAnswer(): EdgeError {
  return new EdgeError("DeviceFailed", "The device sent more than it was asked for.");
}
