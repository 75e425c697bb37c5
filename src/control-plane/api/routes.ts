import { getOverview } from "./account/get-overview.ts";
import { streamAccountEvents } from "./account/stream-account-events.ts";
import { applyGroup } from "./apps/apply-group.ts";
import { updateAgent } from "./apps/update-agent.ts";
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
import { getHold, releaseHold, setHold } from "./assets/hold.ts";
import { getTags, removeTags, replaceTags, updateTags } from "./assets/tags.ts";
import { getVariables, removeVariables, replaceVariables, updateVariables } from "./assets/variables.ts";
import { removeAsset } from "./assets/remove-asset.ts";
import { updateAsset } from "./assets/update-asset.ts";
import { acceptDevice, changeEnrolmentSettings, getEnrolmentSettings } from "./assets/acceptance.ts";
import { registerAssets } from "./assets/bulk-register.ts";
import { tagAssets } from "./assets/bulk-tags.ts";
import { createEnrolmentCode } from "./assets/create-enrolment-code.ts";
import { listNetworkGroups } from "./assets/list-network-groups.ts";
import { getAuditLog } from "./audit/get-audit-log.ts";
import type { Route } from "./context.ts";
import { enrolDevice } from "./enrolments/enrol-device.ts";
import { getConnectivity } from "./history/connectivity.ts";
import { getDeviceMetrics } from "./history/device-metrics.ts";
import { getHealth } from "./history/health.ts";
import { getUptime, listUptimes } from "./history/uptime.ts";
import { createKey, getKey, listKeys, revokeKey, updateKey } from "./keys/keys.ts";
import { acceptInvitation } from "./people/accept-invitation.ts";
import { finishOidc, startOidc } from "./people/oidc.ts";
import { createSession, getSignInOptions } from "./people/open-session.ts";
import { changePassword, deleteSession, getSession } from "./people/session.ts";
import { getSignInSettings } from "./people/sign-in-settings.ts";
import { decideLogin } from "./people/decide-login.ts";
import { fetchLoginKey, startLogin } from "./people/start-login.ts";
import { setUp } from "./people/set-up.ts";
import { getUser, inviteUser, listUsers, removeUser, resetPassword, updateUser } from "./people/users.ts";
import { cancelDeployment } from "./deployments/cancel-deployment.ts";
import { getDeployment, listAccountDeployments, listDeployments } from "./deployments/deployments.ts";
import { streamEvents } from "./deployments/stream-events.ts";
import { createFleet, getFleet, listFleets, removeFleet, updateFleet } from "./fleets/fleets.ts";
import { reapplyFleet } from "./fleets/reapply.ts";
import { listMembers } from "./fleets/members.ts";
import { createRevision, diffRevision, getRevision, listRevisions } from "./fleets/revisions.ts";
import { listAlertDeliveries } from "./alerts/deliveries.ts";
import { acknowledgeAlert, acknowledgeAlertGroup, listAlerts } from "./alerts/alerts.ts";
import { getAlertSettings, replaceAlertSettings, testAlertChannel } from "./alerts/settings.ts";
import { createSilence, endSilence, listSilences } from "./alerts/silences.ts";
import { changeAgentSettings, getAgentSettings } from "./releases/agent-settings.ts";
import { listAgentReleases } from "./releases/list-agent-releases.ts";
import { rolloutCommands } from "./rollouts/commands.ts";
import { createRollout } from "./rollouts/create-rollout.ts";
import { retryRollout } from "./rollouts/retry.ts";
import { getRollout, listRollouts, listTargets } from "./rollouts/rollouts.ts";
import { streamRolloutEvents } from "./rollouts/stream-events.ts";
import { getDataUsage } from "./device/get-data-usage.ts";
import { getDevice } from "./device/get-device.ts";
import { getStats } from "./device/get-stats.ts";
import { legacyUpdateSim } from "./legacy/legacy-update-sim.ts";
import { legacyUsage } from "./legacy/legacy-usage.ts";
import { listVolumes } from "./device/list-volumes.ts";
import { removeVolume } from "./device/remove-volume.ts";
import { listAssetSims, listSims, refreshSim } from "./sims/sims.ts";
import { changeDataPlanSettings, getDataPlanSettings } from "./sims/data-plan-settings.ts";
import { getAllowance, removeAllowance, setAllowance } from "./sims/allowance.ts";
import { listUploads, putUploadPiece } from "./uploads/uploads.ts";
import { getUsage } from "./usage/get-usage.ts";
import { listUsages } from "./usage/list-usages.ts";

/** The endpoints that a one-time code opens. */
export const CODE_ROUTES: readonly Route[] = [enrolDevice, setUp, acceptInvitation];

/** The endpoints of people who are not signed in yet. */
export const SIGN_IN_ROUTES: readonly Route[] = [
  getSignInOptions,
  createSession,
  startOidc,
  finishOidc,
  startLogin,
  fetchLoginKey,
];

/** The endpoints that require a principal. */
export const ROUTES: readonly Route[] = [
  listAssets,
  registerAsset,
  registerAssets,
  tagAssets,
  getAsset,
  updateAsset,
  removeAsset,
  getTags,
  replaceTags,
  updateTags,
  removeTags,
  getVariables,
  replaceVariables,
  updateVariables,
  removeVariables,
  getHold,
  setHold,
  releaseHold,
  listFleets,
  createFleet,
  getFleet,
  updateFleet,
  removeFleet,
  listMembers,
  reapplyFleet,
  listRevisions,
  createRevision,
  getRevision,
  diffRevision,
  listRollouts,
  createRollout,
  getRollout,
  rolloutCommands,
  retryRollout,
  listTargets,
  streamRolloutEvents,
  deployApp,
  applyGroup,
  updateAgent,
  listApps,
  getApp,
  updateApp,
  removeApp,
  appLifecycle,
  getAppLogs,
  listUploads,
  putUploadPiece,
  listDeployments,
  listAccountDeployments,
  getDeployment,
  streamEvents,
  cancelDeployment,
  getDevice,
  getDataUsage,
  getStats,
  listVolumes,
  removeVolume,
  getConnectivity,
  getUptime,
  listUptimes,
  getHealth,
  getDeviceMetrics,
  getUsage,
  listUsages,
  listSims,
  listAssetSims,
  refreshSim,
  getAllowance,
  setAllowance,
  removeAllowance,
  getDataPlanSettings,
  changeDataPlanSettings,
  getOverview,
  streamAccountEvents,
  legacyUpdateSim,
  legacyUsage,
  createEnrolmentCode,
  acceptDevice,
  getEnrolmentSettings,
  changeEnrolmentSettings,
  listNetworkGroups,
  listAgentReleases,
  getAgentSettings,
  changeAgentSettings,
  listAlerts,
  acknowledgeAlert,
  acknowledgeAlertGroup,
  listSilences,
  createSilence,
  endSilence,
  getAlertSettings,
  replaceAlertSettings,
  testAlertChannel,
  listAlertDeliveries,
  getSession,
  deleteSession,
  changePassword,
  listUsers,
  getUser,
  inviteUser,
  updateUser,
  removeUser,
  resetPassword,
  getSignInSettings,
  listKeys,
  getKey,
  createKey,
  updateKey,
  revokeKey,
  getAuditLog,
  decideLogin,
];
