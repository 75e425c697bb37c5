import type { Person } from "../core/fleets/fleet.ts";
import type { AuditEntry } from "./audit.ts";
import type { Precondition } from "./precondition.ts";

/** What is sealed, with the key that it is sealed with. */
export interface Sealed {
  readonly keyId: string;
  readonly sealed: Uint8Array;
}

/** A variable of an asset as it is stored. Its value is sealed. */
export interface StoredVariable extends Sealed {
  readonly name: string;
  readonly isSecret: boolean;
}

/** People's wish that nothing but their own commands reaches an asset. */
export interface Hold {
  /** Unix milliseconds; `undefined`: until it is released. */
  readonly untilMs: number | undefined;
  readonly reason: string;
  readonly setAtMs: number;
  /** Who set it, with the name at that time. */
  readonly setBy: Person;
}

export type AssetSettingsOutcome = "changed" | "unchanged" | "no_asset" | "too_many";

/**
 * Tags, variables and holds of assets. They are removed with their asset. Each change is stored with its entry of the audit log
 * and an event of the account (`asset.changed`) in one transaction; what changes nothing has neither.
 */
export interface AssetSettingsStore {
  /** Returns the tags in the order of their keys. */
  readTags(assetUuid: string): Promise<ReadonlyMap<string, string>>;
  /** Returns the tags of these assets, as far as they have any. */
  listTags(assetUuids: readonly string[]): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>>;
  /** Sets the tags that have a value and removes those with `null`; with `replace` removes all others. At most `MAX_TAGS`. */
  changeTags(
    assetUuid: string,
    changes: ReadonlyMap<string, string | null>,
    replace: boolean,
    audit: AuditEntry,
    precondition?: Precondition<ReadonlyMap<string, string>>,
  ): Promise<AssetSettingsOutcome>;
  /** Returns the variables in the order of their names. */
  readVariables(assetUuid: string): Promise<readonly StoredVariable[]>;
  /** As `changeTags`; at most `MAX_VARIABLES`. */
  changeVariables(
    assetUuid: string,
    changes: ReadonlyMap<string, Omit<StoredVariable, "name"> | null>,
    replace: boolean,
    audit: AuditEntry,
    precondition?: Precondition<readonly StoredVariable[]>,
  ): Promise<AssetSettingsOutcome>;
  findHold(assetUuid: string): Promise<Hold | undefined>;
  /** Sets or, with `undefined`, releases the hold. */
  changeHold(
    assetUuid: string,
    hold: Hold | undefined,
    audit: AuditEntry,
    precondition?: Precondition<Hold | undefined>,
  ): Promise<AssetSettingsOutcome>;
  /** Returns variables whose value is sealed with another key than this one, at most `limit`. */
  listVariablesNotSealedBy(
    keyId: string,
    limit: number,
  ): Promise<readonly (StoredVariable & { readonly assetUuid: string })[]>;
  /** Replaces the sealed value if it is still this one. */
  resealVariable(assetUuid: string, name: string, before: Uint8Array, after: Sealed): Promise<boolean>;
}
