import { type AssetUpdate, assetUpdateSchema } from "../../protocol/asset-request.ts";
import type { AssetStatus } from "../../protocol/asset.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { invalidRequest, listIssues, type RequestIssue } from "../../protocol/request-error.ts";
import type { SimType } from "../../protocol/sim.ts";
import { type Asset, simTypes } from "./asset.ts";
import { requireKnownGroup } from "./network-group.ts";

/** One thing to ask of the SIM operator. */
export type SimChange =
  | { readonly sim: SimType; readonly field: "status"; readonly value: AssetStatus }
  | { readonly sim: "supersim"; readonly field: "network_group"; readonly value: string };

/** What an update comes to: the SIM changes in order, then the name. */
export interface UpdatePlan {
  readonly simChanges: readonly SimChange[];
  readonly name: string | undefined;
}

const READ_ONLY = "cannot be updated";

/** Why a field that clients may well know is refused, and what to use. */
const REFUSED: Readonly<Record<string, string>> = {
  fleet: "is no longer supported; use supersim.network_group, which replaces it",
  "supersim.fleet": "is no longer supported; use supersim.network_group, which replaces it",
  prosim: "PRO SIM properties cannot be updated; name, status and supersim.network_group can",
  network_group: "is deprecated and cannot be updated; use supersim.network_group",
  sim: "is deprecated and cannot be updated; use status and supersim.network_group",
  uuid: READ_ONLY,
  serial_number: READ_ONLY,
  type: READ_ONLY,
  created_at: READ_ONLY,
  "supersim.sid": READ_ONLY,
  "supersim.iccid": READ_ONLY,
};

/** Reads the body of Update Asset. Throws `InvalidRequest` naming every field that is wrong, and for an empty update. */
export function parseAssetUpdate(body: unknown): AssetUpdate {
  const result = assetUpdateSchema.safeParse(body);
  if (!result.success) throw invalidRequest(listIssues(result.error).map(explain));
  const { name, status, supersim } = result.data;
  if (name === undefined && status === undefined && supersim?.network_group === undefined) {
    throw invalidRequest([
      { path: "", reason: "nothing to update; give at least one of name, status and supersim.network_group" },
    ]);
  }
  return result.data;
}

/**
 * Decides what an update changes. Throws, before anything has changed, `AssetHasNoSim` for a status without a SIM,
 * `SimNotFound` for a network group without a Super SIM, `UnknownNetworkGroup` for a group the account has not.
 *
 * @param ownGroups names of the account's own network groups
 */
export function planUpdate(asset: Asset, update: AssetUpdate, ownGroups: readonly string[]): UpdatePlan {
  const { status } = update;
  const group = update.supersim?.network_group;
  const types = simTypes(asset);
  if (status !== undefined && types.length === 0) throw new EdgeError("AssetHasNoSim");
  if (group !== undefined) {
    if (!asset.supersim) throw new EdgeError("SimNotFound", "The asset has no Super SIM.", { sim_type: "supersim" });
    requireKnownGroup(group, ownGroups);
  }
  const groupChange: SimChange[] =
    group === undefined ? [] : [{ sim: "supersim", field: "network_group", value: group }];
  const statusChanges: SimChange[] =
    status === undefined ? [] : types.map((sim) => ({ sim, field: "status", value: status }));
  return { simChanges: [...groupChange, ...statusChanges], name: update.name };
}

/** Name of the field of the asset a change belongs to, such as `supersim.status`. */
export function changeName(change: SimChange): string {
  return `${change.sim}.${change.field}`;
}

function explain(issue: RequestIssue): RequestIssue {
  return { path: issue.path, reason: (Object.hasOwn(REFUSED, issue.path) && REFUSED[issue.path]) || issue.reason };
}
