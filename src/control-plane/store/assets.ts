import type { SelectorTerm } from "../../protocol/fleets/selector.ts";
import type { AttentionReason } from "../../protocol/assets/attention.ts";
import type { Asset } from "../core/asset.ts";
import type { DeviceBoots } from "../core/device-boots.ts";
import type { AssetState, AttentionTime } from "../core/attention.ts";
import type { Identifier } from "../core/identifier.ts";
import type { AssetOrder } from "../../protocol/assets/asset-request.ts";
import type { AssetCursor } from "../core/cursor.ts";
import type { AssetStatus } from "../../protocol/assets/asset.ts";
import type { AuditEntry } from "./audit.ts";
import type { Precondition } from "./precondition.ts";

export type RegisterResult =
  | { readonly ok: true }
  /** The value of this field is an identifier of another asset, or of another field of the same asset. */
  | {
      readonly ok: false;
      readonly taken: Identifier["field"];
      readonly value: string;
      readonly owner: IdentifierOwner;
    };

/** The asset that has an identifier. */
export interface IdentifierOwner {
  readonly assetUuid: string;
  readonly accountId: string;
}

/** Criteria for a list of assets; `undefined` matches every asset. */
export interface AssetFilter {
  readonly status: AssetStatus | undefined;
  /** Exactly this type. */
  readonly type: string | undefined;
  /** Part of the name or the serial number; case-insensitive for ASCII letters. */
  readonly text: string | undefined;
  /** Whether the device is connected. */
  readonly connected?: boolean | undefined;
  /** With this reason; `any`: with at least one. */
  readonly attention?: AttentionReason | "any" | undefined;
  /** Whether its device was accepted. */
  readonly accepted?: boolean | undefined;
  /** Exactly this version of the agent. */
  readonly agentVersion?: string | undefined;
  /** Changed at this time or later, in Unix seconds. */
  readonly updatedSince?: number | undefined;
  /** By registration by default. */
  readonly order?: AssetOrder | undefined;
  /** Those that match all of these terms. */
  readonly selector?: readonly SelectorTerm[] | undefined;
}

/** Number of assets that one page of a filtered list looks at. Where fewer match than a page holds, the page is shorter. */
export const MAX_SCANNED_ASSETS = 10_000;

export interface AssetPage {
  readonly assets: readonly AssetWithState[];
  /** Position of the next page; `undefined` on the last page. A page with few assets, or none, may have one. */
  readonly next: AssetCursor | undefined;
}

/** What the state of assets depends on besides what is stored. */
export interface StateTime extends AttentionTime {
  /** Service time: an instance whose lease has lapsed by then holds no session. */
  readonly serviceNowMs: number;
}

/** An asset with its state. */
export interface AssetWithState {
  readonly asset: Asset;
  readonly state: AssetState;
}

/** How many assets of an account there are of each kind. */
export interface AssetCounts {
  readonly connected: number;
  readonly neverConnected: number;
  readonly all: number;
  /** With at least one reason. */
  readonly attention: number;
  /** Assets for each reason that one has. */
  readonly reasons: Partial<Record<AttentionReason, number>>;
  /** Deployments that have not ended. */
  readonly runningDeployments: number;
}

/** The asset of a device token. */
export interface FoundDevice {
  readonly asset: Asset;
  /** Whether it is the next token, which replaces the current one with its first use. */
  readonly isNextToken: boolean;
  readonly boots: DeviceBoots | undefined;
}

/** What people call an asset. */
export type AssetDescription = Partial<Pick<Asset, "name" | "type">>;

export interface AssetStore {
  /** Returns the account's asset with this serial number, SIM SID, ICCID or UUID. */
  findAsset(accountId: string, identifier: string): Promise<Asset | undefined>;
  /** As `findAsset`, with the state of the asset. */
  findAssetWithState(accountId: string, identifier: string, time: StateTime): Promise<AssetWithState | undefined>;
  /** Whether the device of the asset was accepted. */
  isAccepted(uuid: string): Promise<boolean>;
  findAssetByUuid(uuid: string): Promise<Asset | undefined>;
  /** Finds an asset by the current device token, or by the next one. */
  findAssetByDeviceToken(hash: Uint8Array): Promise<Asset | undefined>;
  /** The same, with whether the token is the next one, which `replaceDeviceToken` makes the current one. */
  findDevice(hash: Uint8Array): Promise<FoundDevice | undefined>;
  /**
   * Stores the boots of the asset's device, with the attention `cloned_identity` if another device has its token. Returns
   * whether they were still `before`; if not, nothing is stored.
   */
  saveBoots(uuid: string, before: DeviceBoots | undefined, boots: DeviceBoots): Promise<boolean>;
  /**
   * Makes the asset's next device token the current one, if this is its hash. The previous token becomes invalid. The device that
   * has it takes the place of the one in service, and waits for acceptance unless the account accepts by itself.
   *
   * @returns whether a token was replaced
   */
  replaceDeviceToken(uuid: string, hash: Uint8Array, nowMs: number, audit?: AuditEntry): Promise<boolean>;
  /**
   * Stores the asset with its SIMs in one transaction. Throws when there is no such account.
   *
   * @param isAccepted whether its device is accepted, even if the account does not accept by itself
   */
  registerAsset(
    asset: Asset,
    deviceTokenHash: Uint8Array,
    audit?: AuditEntry,
    isAccepted?: boolean,
  ): Promise<RegisterResult>;
  /** Returns what `registerAsset` would. Stores nothing. */
  checkAsset(asset: Asset): Promise<RegisterResult>;
  /**
   * Returns at most `limit` of the account's assets after `after`, in the order of the filter, then by UUID; fewer if
   * `MAX_SCANNED_ASSETS` is reached.
   */
  listAssets(
    accountId: string,
    filter: AssetFilter,
    limit: number,
    after: AssetCursor | undefined,
    time: StateTime,
  ): Promise<AssetPage>;
  /** Returns those of the account's assets that match the selector. */
  findMatching(
    accountId: string,
    uuids: readonly string[],
    selector: readonly SelectorTerm[],
  ): Promise<ReadonlySet<string>>;
  countAssets(accountId: string, time: StateTime): Promise<AssetCounts>;
  /** Sets the name or the type, or both. Does nothing if the asset does not exist. */
  describeAsset(uuid: string, fields: AssetDescription, audit?: AuditEntry): Promise<void>;
  /**
   * Removes the asset with its SIMs, identifiers and usage: a later owner of a SIM must not see its earlier usage. Does
   * nothing if the asset does not exist.
   */
  removeAsset(uuid: string, audit?: AuditEntry, precondition?: Precondition<Asset>): Promise<void>;
}
