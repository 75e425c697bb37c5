import type { Sealed } from "../store/asset-settings.ts";

/**
 * Encrypts what must outlive a request. What it returns is bound to `purpose`: it cannot be opened for another one, so that
 * nobody who writes to the database can show one value in the place of another.
 */
export interface Sealer {
  seal(plaintext: Uint8Array, purpose: string): Sealed;
  /** Throws if it was sealed for another purpose, was changed, or if its key is missing. */
  open(sealed: Sealed, purpose: string): Uint8Array;
}

/** The purpose of the value of a variable. */
export function variablePurpose(assetUuid: string, name: string): string {
  return `variable ${assetUuid} ${name}`;
}

/** The purpose of the content of a revision. */
export function revisionPurpose(fleetId: string, number: number): string {
  return `revision ${fleetId} ${number}`;
}
