import type { SimType } from "../../protocol/assets/sim.ts";
import type { Sealed } from "./asset-settings.ts";
import type { AuditEntry } from "./audit.ts";

/** What an account uses the operator of a type of SIM with, as it is stored. */
export interface StoredCredentials extends Sealed {
  readonly accountId: string;
  readonly type: SimType;
  /** Unix milliseconds. */
  readonly changedAtMs: number;
}

/** The accounts' own credentials at the companies that run their SIMs. */
export interface SimCredentialStore {
  /** Returns all of them, by account and type. */
  listCredentials(): Promise<readonly StoredCredentials[]>;
  /** Returns the types that some account has credentials for. */
  listTypes(): Promise<readonly SimType[]>;
  findCredentials(accountId: string, type: SimType): Promise<StoredCredentials | undefined>;
  /** Replaces earlier ones. The account's SIMs of this type are due at once. Returns false if there is no such account. */
  setCredentials(credentials: StoredCredentials, audit?: AuditEntry): Promise<boolean>;
  /** As well, the account's SIMs of this type are due at `atMs`, in Unix milliseconds. Returns false if there are none. */
  removeCredentials(accountId: string, type: SimType, atMs: number, audit?: AuditEntry): Promise<boolean>;
  /** Returns those that are sealed with another key than this one, at most `limit`. */
  listCredentialsNotSealedBy(keyId: string, limit: number): Promise<readonly StoredCredentials[]>;
  /** Replaces what is sealed if it is still this. */
  resealCredentials(accountId: string, type: SimType, before: Uint8Array, after: Sealed): Promise<boolean>;
}
