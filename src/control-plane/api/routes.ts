import { getOverview } from "./account/get-overview.ts";
import { streamAccountEvents } from "./account/stream-account-events.ts";
import { applyGroup } from "./apps/apply-group.ts";
import { getAppLogs } from "./apps/get-app-logs.ts";
import { deployApp } from "./apps/deploy-app.ts";
import { getApp } from "./apps/get-app.ts";
import { listApps } from "./apps/list-apps.ts";
import { removeApp } from "./apps/remove-app.ts";
import { appLifecycle } from "./apps/app-lifecycle.ts";
import { updateApp } from "./apps/update-app.ts";
import { getAsset } from "./assets/get-asset.ts";
import { listAssets } from "./assets/list-assets.ts";
import { registerAsset } from "./assets/register-asset.ts";
import { removeAsset } from "./assets/remove-asset.ts";
import { updateAsset } from "./assets/update-asset.ts";
import type { Route } from "./context.ts";
import { cancelDeployment } from "./deployments/cancel-deployment.ts";
import { getDeployment } from "./deployments/get-deployment.ts";
import { listDeployments } from "./deployments/list-deployments.ts";
import { streamEvents } from "./deployments/stream-events.ts";
import { getDataUsage } from "./device/get-data-usage.ts";
import { getDevice } from "./device/get-device.ts";
import { getStats } from "./device/get-stats.ts";
import { legacyUpdateSim } from "./legacy/legacy-update-sim.ts";
import { legacyUsage } from "./legacy/legacy-usage.ts";
import { listVolumes } from "./device/list-volumes.ts";
import { removeVolume } from "./device/remove-volume.ts";
import { getUsage } from "./usage/get-usage.ts";

/** The endpoints that require an API key. */
export const ROUTES: readonly Route[] = [
  listAssets,
  registerAsset,
  getAsset,
  updateAsset,
  removeAsset,
  deployApp,
  applyGroup,
  listApps,
  getApp,
  updateApp,
  removeApp,
  appLifecycle,
  getAppLogs,
  listDeployments,
  getDeployment,
  streamEvents,
  cancelDeployment,
  getDevice,
  getDataUsage,
  getStats,
  listVolumes,
  removeVolume,
  getUsage,
  getOverview,
  streamAccountEvents,
  legacyUpdateSim,
  legacyUsage,
];
