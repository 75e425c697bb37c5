import type { EnrolmentCode } from "../core/enrolment.ts";
import type { AuditEntry } from "./audit.ts";
import type { Precondition } from "./precondition.ts";

/** What became of the use of a code. */
export type CodeUseResult =
  | "used"
  /** With another nonce, before. */
  | "used_before"
  /** A device of the asset has connected, and the code may not replace it. */
  | "in_service";

export interface EnrolmentStore {
  /** Stores a new code. Unused codes of the same asset become invalid. @param hash unique */
  issueCode(code: EnrolmentCode, hash: Uint8Array, audit?: AuditEntry): Promise<void>;
  /** Returns the code with its hash, and the hash of the nonce it was used with. */
  findCode(
    hash: Uint8Array,
  ): Promise<
    { readonly code: EnrolmentCode; readonly hash: Uint8Array; readonly nonceHash: Uint8Array | undefined } | undefined
  >;
  /** Removes used and expired codes that no error message needs any more. @param now Unix seconds */
  removeOldCodes(now: number): Promise<void>;
  /**
   * Marks a code as used and stores the asset's next device token, in one transaction. The current token stays valid. With a code
   * that may not replace a device, the next token is void once one of the asset has been connected, and an acceptance is withdrawn.
   */
  useCode(use: {
    readonly hash: Uint8Array;
    readonly nonceHash: Uint8Array;
    readonly at: number;
    readonly tokenHash: Uint8Array;
    readonly audit?: AuditEntry;
  }): Promise<CodeUseResult>;
  /**
   * Accepts the device of an asset: what its fleets have for it may be delivered. Returns whether it was not accepted before;
   * `undefined` if there is no such asset.
   */
  acceptDevice(assetUuid: string, at: number, audit: AuditEntry): Promise<boolean | undefined>;
  /** Whether the account accepts new and replaced devices by itself. */
  readAutoAccept(accountId: string): Promise<boolean>;
  setAutoAccept(
    accountId: string,
    autoAccept: boolean,
    audit: AuditEntry,
    precondition?: Precondition<boolean>,
  ): Promise<void>;
}
