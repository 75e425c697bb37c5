import { EdgeError } from "../../../protocol/errors/errors.ts";

/** The device's answer does not match the query's schema. */
export function invalidAnswer(): EdgeError {
  return new EdgeError("DeviceFailed", "The device's answer could not be understood.");
}

/** The device sent more than was requested. */
export function excessiveAnswer(): EdgeError {
  return new EdgeError("DeviceFailed", "The device sent more than was requested.");
}
