import { describe } from "vitest";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import type { AssetCursor } from "../../../src/control-plane/core/cursor.ts";
import type { AssetFilter, StateTime } from "../../../src/control-plane/store/assets.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";

/** A store under test: empty, and closed when disposed. */
export interface StoreHarness {
  readonly name: string;
  open(): Promise<Store>;
}

/** For each of the six runs of the contract. */
export const PROPERTY_RUNS = process.env["CHAOS"] === "full" ? 200 : 20;

export const ACCOUNT = "acc_1";
const STRANGER = "acc_2";
export const TWO_ACCOUNTS = [ACCOUNT, STRANGER] as const;

/** Opens a store with two accounts, for one test. */
export async function openWithAccounts(harness: StoreHarness): Promise<Store> {
  const store = await harness.open();
  for (const [index, id] of TWO_ACCOUNTS.entries()) {
    await store.accounts.createAccount({ id, name: `account ${index + 1}`, createdAt: index });
  }
  return store;
}

let count = 0;

/** An asset without SIMs, with unique identifiers. */
export function someAsset(fields: Partial<Asset> = {}): Asset {
  const number = String(++count).padStart(12, "0");
  return {
    uuid: `00000000-0000-4000-8000-${number}`,
    accountId: ACCOUNT,
    serialNumber: `GW-${number}`,
    name: `Gateway ${number}`,
    type: "gateway",
    createdAt: count,
    supersim: undefined,
    prosim: undefined,
    ...fields,
  };
}

/** Registers the asset, by default with a token hash of its own. Throws when it is refused. */
export async function register(store: Store, asset: Asset, token = hash(asset.uuid)): Promise<Asset> {
  const result = await store.assets.registerAsset(asset, token, undefined, true);
  if (!result.ok) throw new Error(`taken: ${result.taken}`);
  return asset;
}

/** No asset needs attention for the time it is away. */
export const SOME_TIME: StateTime = { now: 1_000, notSeenBefore: 0, serviceNowMs: 1_000_000 };

/** Lists assets without their states. */
export async function listAssets(
  store: Store,
  accountId: string,
  filter: AssetFilter,
  limit: number,
  after?: AssetCursor,
): Promise<Asset[]> {
  const { assets: found } = await store.assets.listAssets(accountId, filter, limit, after, SOME_TIME);
  return found.map(({ asset }) => asset);
}

/** A fake hash: the bytes of a text. */
export function hash(text: string): Uint8Array {
  return Buffer.from(text);
}

export function describeDomain(domain: string, harness: StoreHarness, tests: () => void): void {
  describe(`${harness.name}: ${domain}`, tests);
}
