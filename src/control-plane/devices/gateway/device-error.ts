import { truncateMessage } from "../../../protocol/deployments/deployment-event.ts";
import { EdgeError, type ErrorCode } from "../../../protocol/errors/errors.ts";

// Codes that mean the same to the client.
const PASSED_THROUGH_CODES: ReadonlySet<ErrorCode> = new Set([
  "AppNotFound",
  "DeviceNotReachable",
  "EngineUnavailable",
  "VolumeInUse",
  "VolumeNotFound",
]);

/** Returns the error for the client when the device ended a query with an error. */
export function toClientError(error: EdgeError): EdgeError {
  if (PASSED_THROUGH_CODES.has(error.code)) return error;
  return new EdgeError("DeviceFailed", truncateMessage(error.message), { device_code: error.code });
}
