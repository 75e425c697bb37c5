/**
 * Names of shared components whose field or parameter has several meanings in the document, by a place that has one of them:
 * `Schema.field`, `operationId.parameter` or `operationId.status`. Generated clients have these names, so they stay as they are when something is added
 * to the document. Any other shared component is called as its field or parameter.
 */
const NAMES: Readonly<Record<string, string>> = {
  "FleetCreation.name": "FleetName",
  "UserInvitation.name": "InvitedName",
  "UserUpdate.name": "PersonName",
  "AssetRegistration.name": "AssetName",
  "ApiKeyUpdate.name": "ApiKeyName",
  "Hold.reason": "HoldReason",
  "Silence.reason": "SilenceReason",
  "Alert.state": "AlertState",
  "AlertSubject.kind": "AlertSubjectKind",
  "FleetCreation.selector": "FleetSelector",
  "RolloutWaveStrategy.selector": "WaveSelector",
  "Silence.selector": "SilenceSelector",
  "AlertRouteBody.selector": "RouteSelector",
  "RolloutStrategy.soak_s": "StrategySoakS",
  "RolloutWaveStrategy.soak_s": "WaveSoakS",
  "RolloutStrategy.max_download_bytes": "AssetMaxDownloadBytes",
  "AppDeploymentRequest.max_download_bytes": "DeploymentMaxDownloadBytes",
  "AppDeploymentRequest.registry_auth": "DeploymentRegistryAuth",
  "AppDeploymentRequest.user": "AppUser",
  "SuperSimUsage.start_time": "RangeStartTime",
  "SuperSimUsage.end_time": "RangeEndTime",
  "AccountEvent.app": "AppOrGroup",
  "SuperSim.network_group": "NetworkGroup",
  "SuperSimRegistration.network_group": "NetworkGroupInput",
  "AssetRegistration.serial_number": "SerialNumberInput",
  "SuperSim.iccid": "Iccid",
  "SuperSimRegistration.iccid": "IccidInput",
  "DeploymentEvent.status": "DeploymentStatus",
  "RegistrationResult.status": "RowSkipped",
  "updateAsset.412": "AssetChanged",
  "registerAssets.Idempotency-Key": "IdempotencyKey",
  "deployApp.Idempotency-Key": "CommandIdempotencyKey",
  "deployApp.dry_run": "CommandDryRun",
  "pauseRollout.dry_run": "RolloutDryRun",
  "registerAssets.dry_run": "BulkDryRun",
};

/** Returns the name of what is at such a place; `undefined` if it is called as its field or parameter. */
export function nameAt(place: string): string | undefined {
  return NAMES[place];
}

/** All of these names. */
export const COMPONENT_NAMES: readonly string[] = Object.values(NAMES);
