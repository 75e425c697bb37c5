import type { Sealed } from "../store/asset-settings.ts";

/** Seals a value for a purpose. */
export type Seal = (plaintext: Uint8Array, purpose: string) => Sealed;

/**
 * Encrypts what must outlive a request. What it returns is bound to `purpose`: it cannot be opened for another one, so that
 * a writer to the database cannot put one value in the place of another.
 */
export interface Sealer {
  /**
   * Returns what seals with the key that is current now. Ask again for each request: another key becomes current while the
   * service runs. Throws `ServiceUnavailable` if there is no such key here.
   */
  sealing(): Promise<Seal>;
  /** Throws `UnsealError` if it was sealed for another purpose, was changed, or if its key is missing. */
  open(sealed: Sealed, purpose: string): Uint8Array;
}

/** A sealed value cannot be opened. The message names what it belongs to, and nothing of its content. */
export class UnsealError extends Error {
  override readonly name = "UnsealError";
  /** What the value belongs to: `variable NAME of asset …` or `revision 3 of fleet …`. */
  readonly purpose: string;
  readonly keyId: string;

  constructor(purpose: string, keyId: string, reason: string) {
    super(`cannot open ${purpose}: ${reason}`);
    this.purpose = purpose;
    this.keyId = keyId;
  }
}

/** The purpose of the value of a variable. */
export function variablePurpose(assetUuid: string, name: string): string {
  return `variable ${name} of asset ${assetUuid}`;
}

/** The purpose of an account's credentials at the operator of a type of SIM. */
export function credentialsPurpose(accountId: string, type: string): string {
  return `${type} credentials of account ${accountId}`;
}

/** The purpose of the content of a revision. */
export function revisionPurpose(fleetId: string, number: number): string {
  return `revision ${number} of fleet ${fleetId}`;
}

/** The purpose of what a channel of alerts is used with: its addresses and secrets. */
export function channelPurpose(accountId: string, name: string): string {
  return `channel ${name} of account ${accountId}`;
}
