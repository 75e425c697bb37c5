import type { Asset } from "../../api/types.ts";

/** What each part of the page of an asset is given. */
export interface TabProps {
  readonly asset: Asset;
}
