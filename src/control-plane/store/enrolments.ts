import type { EnrolmentCode } from "../core/enrolment.ts";
import type { AuditEntry } from "./audit.ts";

export interface EnrolmentStore {
  /** Stores a new code. Unused codes of the same asset become invalid. @param hash unique */
  issueCode(code: EnrolmentCode, hash: Uint8Array, audit?: AuditEntry): Promise<void>;
  /** Returns the code with its hash, and the hash of the nonce it was used with. */
  findCode(
    hash: Uint8Array,
  ): Promise<
    { readonly code: EnrolmentCode; readonly hash: Uint8Array; readonly nonceHash: Uint8Array | undefined } | undefined
  >;
  /**
   * Marks a code as used and stores the asset's next device token, in one transaction. The current token stays valid.
   *
   * @returns false if the code was used with another nonce before
   */
  useCode(use: {
    readonly hash: Uint8Array;
    readonly nonceHash: Uint8Array;
    readonly at: number;
    readonly tokenHash: Uint8Array;
    readonly audit?: AuditEntry;
  }): Promise<boolean>;
}
