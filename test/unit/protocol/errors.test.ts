import { describe, expect, it } from "vitest";
import {
  EdgeError,
  type ErrorCode,
  type ErrorEntry,
  ERRORS,
  isErrorCode,
} from "../../../src/protocol/errors/errors.ts";

describe("the error table", () => {
  it.each([
    ["ErrorNodePortIsNotCorrectRange", "Port is not in the correct range. The range of valid ports is 30000-32767."],
    ["ErrorPortInUse", "The desired port is already in use."],
    ["DeviceNotReachable", "Device not reachable"],
    ["AssetNotFound", "Asset not found"],
  ] as const)("always gives the specified text of %s", (code, text) => {
    expect(new EdgeError(code).message).toBe(text);
    expect(new EdgeError(code, "something more precise").message).toBe(text);
  });

  it("accepts another message for other codes", () => {
    expect(new EdgeError("Internal", "the disk is on fire").message).toBe("the disk is on fire");
  });

  it("is valid: every text is long enough, every hint is a sentence, every status is an error status", () => {
    for (const [code, { message, hint, http }] of Object.entries<ErrorEntry>(ERRORS)) {
      expect(message.length, code).toBeGreaterThan(10);
      expect(hint, code).toMatch(/\.$/);
      expect(http === undefined || (http >= 400 && http < 600), code).toBe(true);
    }
  });

  it("recognizes its codes and no others", () => {
    for (const code of Object.keys(ERRORS) as ErrorCode[]) expect(isErrorCode(code)).toBe(true);
    for (const other of ["toString", "__proto__", "", 7, undefined]) expect(isErrorCode(other)).toBe(false);
  });
});
