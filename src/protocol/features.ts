import { hasExtraFields } from "./app-extras.ts";
import type { DeployOptions } from "./deploy-request.ts";
import type { DeploymentAction } from "./deployment-action.ts";

/** The protocol version that introduced each feature. */
const INTRODUCED_IN = {
  /** Frame `command`: actions other than `deploy`. */
  appCommands: 2,
  /** `options` of a command, such as `dry_run` and `registry_auth`. */
  deployOptions: 2,
  /** Fields of an app that version 1 does not have; see `ADDED_APP_FIELDS`. */
  extraAppFields: 2,
  /** Frames `query`, `query_cancel`, `answer` and `query_end`. */
  queries: 2,
  /** Frame `report`, and `report_hash` of `welcome`. */
  reports: 2,
} as const;

export type ProtocolFeature = keyof typeof INTRODUCED_IN;

/** Whether a peer has the feature. @param version the negotiated protocol version */
export function supports(version: number, feature: ProtocolFeature): boolean {
  return version >= INTRODUCED_IN[feature];
}

/** What decides which features a command needs. */
export interface CommandNeeds {
  readonly action: DeploymentAction;
  /** The app for a deployment, the changes for an update, `null` for other actions. */
  readonly spec: unknown;
  readonly options: Omit<DeployOptions, "registry_auth">;
  readonly hasRegistryAuth: boolean;
}

/** Returns the features without which a device would misunderstand the command. */
export function requiredFeatures({ action, spec, options, hasRegistryAuth }: CommandNeeds): ProtocolFeature[] {
  const features: ProtocolFeature[] = [];
  if (action !== "deploy") features.push("appCommands");
  if (hasRegistryAuth || Object.keys(options).length > 0) features.push("deployOptions");
  if (hasExtraFields(spec)) features.push("extraAppFields");
  return features;
}
