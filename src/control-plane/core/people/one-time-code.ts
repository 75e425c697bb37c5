import { isWithinLifetime } from "../lifetime.ts";

const HOUR_S = 3600;

/** What a code is for, and how long it may be used, in seconds. */
export const CODE_LIFETIMES_S = {
  /** Makes the first user of the service, or of an account. */
  setup: 24 * HOUR_S,
  /** Lets an invited user choose a password. */
  invitation: 7 * 24 * HOUR_S,
  /** Lets a user choose another password. */
  reset: 24 * HOUR_S,
} as const;
export type CodePurpose = keyof typeof CODE_LIFETIMES_S;

/** The record of a code that can be used once. The code itself is not stored. Times are Unix seconds. */
export interface OneTimeCode {
  readonly purpose: CodePurpose;
  /** The account it is of; `undefined` for the code that makes the first one. */
  readonly accountId: string | undefined;
  /** The user it is for; `undefined` for a set-up code. */
  readonly userId: string | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly usedAt: number | undefined;
}

export type CodeState = "usable" | "unknown" | "expired" | "used";

/** Returns when a code that is issued now expires. */
export function codeExpiry(purpose: CodePurpose, now: number): number {
  return now + CODE_LIFETIMES_S[purpose];
}

/** Whether a code may be used now. A code of another purpose is unknown. */
export function codeState(code: OneTimeCode | undefined, purposes: readonly CodePurpose[], now: number): CodeState {
  if (!code || !purposes.includes(code.purpose)) return "unknown";
  if (code.usedAt !== undefined) return "used";
  return isWithinLifetime(code, now) ? "usable" : "expired";
}
