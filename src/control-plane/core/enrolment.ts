import { EdgeError } from "../../protocol/errors/errors.ts";
import { isWithinLifetime } from "./lifetime.ts";

/** Time after its first use in which the same device may use a code again, in seconds: the response may get lost. */
const REUSE_WINDOW_S = 15 * 60;

/** The record of an enrolment code. The code itself is not stored. Times are Unix seconds. */
export interface EnrolmentCode {
  readonly assetUuid: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Time of the first use. */
  readonly usedAt: number | undefined;
  /** Whether its maker may replace a device in service. */
  readonly mayReplace: boolean;
}

/**
 * Throws unless the code may be used now: `EnrolmentCodeUnknown`, `EnrolmentCodeExpired`, `EnrolmentCodeUsed`.
 *
 * @param isSameDevice whether the request comes from the device that used the code first
 */
export function requireUsable(
  code: EnrolmentCode | undefined,
  isSameDevice: boolean,
  now: number,
): asserts code is EnrolmentCode {
  if (!code) throw new EdgeError("EnrolmentCodeUnknown");
  const { usedAt, expiresAt } = code;
  if (usedAt === undefined) {
    if (!isWithinLifetime(code, now)) throw new EdgeError("EnrolmentCodeExpired", undefined, { expired_at: expiresAt });
    return;
  }
  if (!isSameDevice || !isWithinLifetime({ createdAt: usedAt, expiresAt: usedAt + REUSE_WINDOW_S }, now))
    throw new EdgeError("EnrolmentCodeUsed", undefined, { used_at: usedAt });
}
