import type { Fleet, Person, Revision, RevisionApp } from "../../core/fleets/fleet.ts";
import type { OnDrift } from "../../../protocol/fleets/fleet.ts";
import type { RolloutStrategy } from "../../../protocol/fleets/rollout-strategy.ts";
import type { StoredRevision } from "../fleets.ts";
import type { Parameters } from "./statement.ts";

export const FLEET_COLUMNS = `f.id, f.account_id, f.name, f.selector, f.apps, f.strategy, f.on_drift, f.stable_revision, f.last_revision,
  f.paused_reason, f.created_at_ms, f.version`;

export interface FleetRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly selector: string;
  readonly apps: string;
  readonly strategy: string;
  readonly on_drift: OnDrift;
  readonly stable_revision: number | null;
  readonly last_revision: number;
  readonly paused_reason: string | null;
  readonly created_at_ms: number;
  readonly version: number;
}

export function toFleet(row: FleetRow): Fleet {
  return {
    id: row.id,
    accountId: row.account_id,
    name: row.name,
    selector: row.selector,
    apps: JSON.parse(row.apps) as string[],
    strategy: JSON.parse(row.strategy) as RolloutStrategy,
    onDrift: row.on_drift,
    stableRevision: row.stable_revision ?? undefined,
    lastRevision: row.last_revision,
    pausedReason: row.paused_reason ?? undefined,
    createdAtMs: row.created_at_ms,
    version: row.version,
  };
}

/** Its parameters are `fleetValues`. */
export const INSERT_FLEET = /* sql */ `
  INSERT INTO fleets (id, account_id, name, selector, apps, strategy, on_drift, stable_revision, last_revision, paused_reason,
    created_at_ms, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, name) DO NOTHING`;

export function fleetValues(fleet: Fleet): Parameters {
  return [
    fleet.id,
    fleet.accountId,
    fleet.name,
    fleet.selector,
    JSON.stringify(fleet.apps),
    JSON.stringify(fleet.strategy),
    fleet.onDrift,
    fleet.stableRevision ?? null,
    fleet.lastRevision,
    fleet.pausedReason ?? null,
    fleet.createdAtMs,
    fleet.version,
  ];
}

export const REVISION_COLUMNS = "fleet_id, number, apps, agent_version, hash, comment, created_at_ms, created_by";

export interface RevisionRow {
  readonly fleet_id: string;
  readonly number: number;
  readonly apps: string;
  readonly agent_version: string | null;
  readonly hash: string;
  readonly comment: string | null;
  readonly created_at_ms: number;
  readonly created_by: string;
}

export interface SealedRevisionRow extends RevisionRow {
  readonly key_id: string;
  readonly sealed: Uint8Array;
}

export function toRevision(row: RevisionRow): Revision {
  return {
    fleetId: row.fleet_id,
    number: row.number,
    // What JSON leaves out is `undefined`.
    apps: JSON.parse(row.apps) as RevisionApp[],
    agentVersion: row.agent_version ?? undefined,
    hash: row.hash,
    comment: row.comment ?? undefined,
    createdAtMs: row.created_at_ms,
    createdBy: JSON.parse(row.created_by) as Person,
  };
}

export function toStoredRevision(row: SealedRevisionRow): StoredRevision {
  return { revision: toRevision(row), keyId: row.key_id, sealed: row.sealed };
}

/** Its parameters are `revisionValues`. */
export const INSERT_REVISION = /* sql */ `
  INSERT INTO fleet_revisions (fleet_id, number, apps, agent_version, hash, comment, created_at_ms, created_by, key_id, sealed)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

export function revisionValues({ revision, keyId, sealed }: StoredRevision): Parameters {
  const { fleetId, number, apps, agentVersion = null, hash, comment = null, createdAtMs, createdBy } = revision;
  const by = JSON.stringify(createdBy);
  return [fleetId, number, JSON.stringify(apps), agentVersion, hash, comment, createdAtMs, by, keyId, sealed];
}
