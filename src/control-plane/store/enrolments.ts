import type { EnrolmentCode } from "../core/enrolment.ts";

export interface EnrolmentStore {
  /** Keeps a new code. Those of the same asset that nobody has used are void from now on. @param hash unique */
  issueCode(code: EnrolmentCode, hash: Uint8Array): Promise<void>;
  /** @returns the code with its hash, and that of the nonce it was used with */
  findCode(
    hash: Uint8Array,
  ): Promise<
    { readonly code: EnrolmentCode; readonly hash: Uint8Array; readonly nonceHash: Uint8Array | undefined } | undefined
  >;
  /**
   * Uses a code, and lets the device connect with another token, beside the one it has. All or nothing.
   *
   * @returns false where another nonce was quicker
   */
  useCode(use: {
    readonly hash: Uint8Array;
    readonly nonceHash: Uint8Array;
    readonly at: number;
    readonly tokenHash: Uint8Array;
  }): Promise<boolean>;
}
