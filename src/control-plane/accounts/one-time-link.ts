import { type Clock, unixNow } from "../../lib/clock.ts";
import { codeExpiry, type CodePurpose, type OneTimeCode } from "../core/people/one-time-code.ts";
import { createSecret, hashSecret } from "./secrets.ts";

export interface NewCode {
  /** Shown once. */
  readonly secret: string;
  readonly hash: Uint8Array;
  readonly code: OneTimeCode;
}

/** Creates a code that can be used once. The caller stores it. */
export function createCode(
  clock: Clock,
  purpose: CodePurpose,
  { accountId, userId }: { readonly accountId?: string | undefined; readonly userId?: string | undefined },
): NewCode {
  const secret = createSecret("ec_");
  const now = unixNow(clock);
  const expiresAt = codeExpiry(purpose, now);
  return {
    secret,
    hash: hashSecret(secret),
    code: { purpose, accountId, userId, createdAt: now, expiresAt, usedAt: undefined },
  };
}

/** Returns the link that a code is used with. The code is in the fragment, which browsers do not send. */
export function linkOf(consoleUrl: string, page: "setup" | "invitation", secret: string): string {
  return `${consoleUrl}/#/${page}?code=${secret}`;
}
