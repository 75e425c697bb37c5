import { getAsset } from "./assets/get-asset.ts";
import type { Route } from "./context.ts";

/** The endpoints that require an API key. */
export const ROUTES: readonly Route[] = [getAsset];
