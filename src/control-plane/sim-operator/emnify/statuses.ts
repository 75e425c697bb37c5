import type { AssetStatus } from "../../../protocol/assets/asset.ts";

export const ACTIVATED = 1;
export const SUSPENDED = 2;
export const DELETED = 3;

/** By the id of the status: issued, activated, suspended. A SIM that is deleted (3) or in a factory test (4) is neither. */
export const STATUSES: Readonly<Record<number, AssetStatus>> = {
  0: "inactive",
  [ACTIVATED]: "active",
  [SUSPENDED]: "inactive",
};

export const STATUS_WORDS: Readonly<Record<number, string>> = {
  0: "issued",
  [ACTIVATED]: "activated",
  [SUSPENDED]: "suspended",
  [DELETED]: "deleted",
  4: "factory test",
};
