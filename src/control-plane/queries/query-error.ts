import { truncateMessage } from "../../protocol/deployment-event.ts";
import { EdgeError, type ErrorCode } from "../../protocol/errors.ts";

// Codes that mean the same to the client.
const PASSED_THROUGH_CODES: ReadonlySet<ErrorCode> = new Set([
  "AppNotFound",
  "DeviceNotReachable",
  "EngineUnavailable",
  "VolumeInUse",
  "VolumeNotFound",
  // Not from a device: the service is stopping.
  "ServiceUnavailable",
]);

/** Returns the error for the client when the device ended a query with an error. */
export function toQueryError(error: EdgeError): EdgeError {
  if (PASSED_THROUGH_CODES.has(error.code)) return error;
  return new EdgeError("DeviceFailed", truncateMessage(error.message), { device_code: error.code });
}

/** The device's answer does not match the query's schema. */
export function invalidAnswer(): EdgeError {
  return new EdgeError("DeviceFailed", "The device's answer could not be understood.");
}

/** The device sent more than was requested. */
export function excessiveAnswer(): EdgeError {
  return new EdgeError("DeviceFailed", "The device sent more than was requested.");
}
