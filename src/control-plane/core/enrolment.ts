import { EdgeError } from "../../protocol/errors.ts";

/** How long after its first use a code works again for the device that used it, in seconds: its answer may be lost. */
const REUSE_WINDOW_S = 15 * 60;

/** An enrolment code without the code itself, which is not kept. Times are Unix seconds. */
export interface EnrolmentCode {
  readonly assetUuid: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When it was used first. */
  readonly usedAt: number | undefined;
}

/**
 * Throws unless the code may be used now: `EnrolmentCodeUnknown`, `EnrolmentCodeExpired`, `EnrolmentCodeUsed`.
 *
 * @param isSameDevice whether the device that asks is the one that used it first
 */
export function requireUsable(
  code: EnrolmentCode | undefined,
  isSameDevice: boolean,
  now: number,
): asserts code is EnrolmentCode {
  if (!code) throw new EdgeError("EnrolmentCodeUnknown");
  const { usedAt, expiresAt } = code;
  if (usedAt === undefined) {
    if (now >= expiresAt) throw new EdgeError("EnrolmentCodeExpired", undefined, { expired_at: expiresAt });
    return;
  }
  if (!isSameDevice || now >= usedAt + REUSE_WINDOW_S)
    throw new EdgeError("EnrolmentCodeUsed", undefined, { used_at: usedAt });
}
