import {
  type AssetUpdate,
  assetUpdateSchema,
  type LegacySimUpdate,
  legacySimUpdateSchema,
} from "../../protocol/assets/asset-request.ts";
import type { AssetStatus } from "../../protocol/assets/asset.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { invalidRequest, listIssues, type RequestIssue } from "../../protocol/errors/request-error.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { type Asset, simTypes } from "./asset.ts";
import { requireKnownGroup } from "./network-group.ts";

/** One change for the SIM operator. */
export type SimChange =
  | { readonly sim: SimType; readonly field: "status"; readonly value: AssetStatus }
  | { readonly sim: "supersim"; readonly field: "network_group"; readonly value: string };

/** The changes of an update: those of SIMs, in order, then name and type. */
export interface UpdatePlan {
  readonly simChanges: readonly SimChange[];
  readonly name: string | undefined;
  readonly type?: string | undefined;
}

const READ_ONLY = "cannot be updated";

/** Reasons for refusing fields that clients know from responses or older versions. */
const REJECTION_REASONS: Readonly<Record<string, string>> = {
  fleet: "is no longer supported; use supersim.network_group, which replaces it",
  "supersim.fleet": "is no longer supported; use supersim.network_group, which replaces it",
  prosim: "PRO SIM properties cannot be updated; name, type, status and supersim.network_group can",
  network_group: "is deprecated and cannot be updated; use supersim.network_group",
  sim: "is deprecated and cannot be updated; use status and supersim.network_group",
  uuid: READ_ONLY,
  serial_number: READ_ONLY,
  created_at: READ_ONLY,
  "supersim.sid": READ_ONLY,
  "supersim.iccid": READ_ONLY,
};

/** Parses the body of Update Asset. Throws `InvalidRequest` with every invalid field, and for an empty update. */
export function parseAssetUpdate(body: unknown): AssetUpdate {
  const result = assetUpdateSchema.safeParse(body, IN_WORDS);
  if (!result.success) throw invalidRequest(listIssues(result.error, assetUpdateSchema).map(explain));
  const { name, type, status, supersim } = result.data;
  if ([name, type, status, supersim?.network_group].every((field) => field === undefined)) {
    throw invalidRequest([
      { path: "", reason: "nothing to update; give at least one of name, type, status and supersim.network_group" },
    ]);
  }
  return result.data;
}

/** Parses the body of the deprecated Update SIM. Throws `InvalidRequest` as `parseAssetUpdate` does. */
export function parseLegacySimUpdate(body: unknown): LegacySimUpdate {
  const result = legacySimUpdateSchema.safeParse(body, IN_WORDS);
  if (!result.success) throw invalidRequest(listIssues(result.error, legacySimUpdateSchema).map(explainLegacy));
  const { status, network_group } = result.data;
  if (status === undefined && network_group === undefined) {
    throw invalidRequest([{ path: "", reason: "nothing to update; give at least one of status and network_group" }]);
  }
  return result.data;
}

/**
 * Plans an update. Throws `AssetHasNoSim` for a status without a SIM, `SimNotFound` for a network group without a Super
 * SIM, `UnknownNetworkGroup` for a group the account does not have.
 *
 * @param ownGroups names of the account's own network groups
 */
export function planUpdate(asset: Asset, update: AssetUpdate, ownGroups: readonly string[]): UpdatePlan {
  const { name, type, status } = update;
  const types = simTypes(asset);
  if (status !== undefined && types.length === 0) throw new EdgeError("AssetHasNoSim");
  return {
    name,
    type,
    simChanges: [
      ...planGroup(asset, update.supersim?.network_group, ownGroups),
      ...(status === undefined ? [] : types.map((sim) => ({ sim, field: "status" as const, value: status }))),
    ],
  };
}

/**
 * Plans the deprecated Update SIM, which changes the Super SIM only, since `sim` is its mirror. Throws `SimNotFound` for
 * an asset without one, `UnknownNetworkGroup`.
 */
export function planLegacyUpdate(asset: Asset, update: LegacySimUpdate, ownGroups: readonly string[]): UpdatePlan {
  const { status, network_group: group } = update;
  requireSuperSim(asset);
  const statusChange: SimChange[] = status === undefined ? [] : [{ sim: "supersim", field: "status", value: status }];
  return { name: undefined, simChanges: [...planGroup(asset, group, ownGroups), ...statusChange] };
}

function planGroup(asset: Asset, group: string | undefined, ownGroups: readonly string[]): SimChange[] {
  if (group === undefined) return [];
  requireSuperSim(asset);
  requireKnownGroup(group, ownGroups);
  return [{ sim: "supersim", field: "network_group", value: group }];
}

function requireSuperSim(asset: Asset): void {
  if (!asset.supersim) throw new EdgeError("SimNotFound", "The asset has no Super SIM.", { sim_type: "supersim" });
}

/** Returns the name of the asset's field that the change sets, such as `supersim.status`. */
export function changedFieldName(change: SimChange): string {
  return `${change.sim}.${change.field}`;
}

function explain(issue: RequestIssue): RequestIssue {
  return {
    path: issue.path,
    reason: (Object.hasOwn(REJECTION_REASONS, issue.path) && REJECTION_REASONS[issue.path]) || issue.reason,
  };
}

function explainLegacy(issue: RequestIssue): RequestIssue {
  return issue.path === "fleet" ? { path: issue.path, reason: "is no longer supported; use network_group" } : issue;
}
