import type { AppOwner } from "../fleets.ts";
import type { Dialect } from "./dialect.ts";
import { all, change, type Work } from "./statement.ts";

/** Claims nothing that has been taken off the fleet's list meanwhile: it would stay the fleet's until the next look. */
const CLAIM = (dialect: Dialect): string => /* sql */ `
  INSERT INTO app_owners (asset_uuid, app, fleet_id)
  SELECT ?1, ?2, f.id FROM fleets f WHERE f.id = ?3 AND ?2 IN ${dialect.jsonTexts("f.apps")}
  ON CONFLICT (asset_uuid, app) DO NOTHING`;

const RELEASE = "DELETE FROM app_owners WHERE asset_uuid = ? AND app = ? AND fleet_id = ?";
/** Parameters: the fleet, the asset, the revision. Does nothing if there is no such asset. */
export const SET_MEMBER = /* sql */ `
  INSERT INTO fleet_members (fleet_id, asset_uuid, revision)
  SELECT ?1, a.uuid, ?3 FROM assets a WHERE a.uuid = ?2
  ON CONFLICT (fleet_id, asset_uuid) DO UPDATE SET revision = excluded.revision`;
export const CLEAR_MEMBER = "UPDATE fleet_members SET revision = NULL WHERE fleet_id = ? AND asset_uuid = ?";
export const REMOVE_MEMBER = "DELETE FROM fleet_members WHERE fleet_id = ? AND asset_uuid = ?";

/** Statement for the owners of apps of an asset other than a fleet. Parameters: the fleet, the asset, the names in JSON. */
export const FIND_OTHER_OWNERS = (dialect: Dialect): string => /* sql */ `
  SELECT o.app, f.name AS fleet FROM app_owners o JOIN fleets f ON f.id = o.fleet_id
  WHERE o.fleet_id <> ?1 AND o.asset_uuid = ?2 AND o.app IN ${dialect.jsonTexts("?3")} ORDER BY o.app`;

/** Makes the fleet the owner of those of these apps that have none, or of none if others own one. Returns the others. */
export function* claimApps(
  dialect: Dialect,
  fleetId: string,
  assetUuid: string,
  apps: readonly string[],
): Work<readonly AppOwner[]> {
  const others = yield* all<AppOwner>(FIND_OTHER_OWNERS(dialect), [fleetId, assetUuid, JSON.stringify(apps)]);
  if (others.length > 0) return others;
  const claimed: string[] = [];
  // In one order, so that no two transactions wait for each other.
  const claim = CLAIM(dialect);
  for (const app of apps.toSorted()) if ((yield* change(claim, [assetUuid, app, fleetId])) > 0) claimed.push(app);
  if (claimed.length === apps.length) return [];
  // One of them may have been claimed since they were read: an insertion waits for the other transaction.
  const late = yield* all<AppOwner>(FIND_OTHER_OWNERS(dialect), [fleetId, assetUuid, JSON.stringify(apps)]);
  if (late.length > 0) for (const app of claimed) yield* change(RELEASE, [assetUuid, app, fleetId]);
  return late;
}
