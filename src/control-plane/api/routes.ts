import { getAsset } from "./assets/get-asset.ts";
import { listAssets } from "./assets/list-assets.ts";
import { registerAsset } from "./assets/register-asset.ts";
import { removeAsset } from "./assets/remove-asset.ts";
import { updateAsset } from "./assets/update-asset.ts";
import type { Route } from "./context.ts";
import { cancelDeployment } from "./deployments/cancel-deployment.ts";
import { deployApp } from "./deployments/deploy-app.ts";
import { getDeployment } from "./deployments/get-deployment.ts";
import { listDeployments } from "./deployments/list-deployments.ts";
import { streamEvents } from "./deployments/stream-events.ts";
import { legacyUpdateSim } from "./legacy/legacy-update-sim.ts";
import { legacyUsage } from "./legacy/legacy-usage.ts";
import { getUsage } from "./usage/get-usage.ts";

/** The endpoints that require an API key. */
export const ROUTES: readonly Route[] = [
  listAssets,
  registerAsset,
  getAsset,
  updateAsset,
  removeAsset,
  deployApp,
  listDeployments,
  getDeployment,
  streamEvents,
  cancelDeployment,
  getUsage,
  legacyUpdateSim,
  legacyUsage,
];
