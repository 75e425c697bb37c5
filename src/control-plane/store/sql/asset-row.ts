import type { AssetStatus } from "../../../protocol/assets/asset.ts";
import type { Asset, PendingChange } from "../../core/asset.ts";
import type { DeviceBoots } from "../../core/device-boots.ts";
import type { AssetWithState, StateTime } from "../assets.ts";
import { INSTANCE_LEASE_MS } from "../instances.ts";

/** An asset with both its SIMs in one row. */
export interface AssetRow {
  readonly uuid: string;
  readonly account_id: string;
  readonly serial_number: string;
  readonly name: string;
  readonly type: string;
  readonly created_at: number;
  readonly s_sid: string;
  readonly s_iccid: string;
  readonly s_network_group: string;
  readonly s_status: AssetStatus | null;
  readonly s_pending: string | null;
  readonly p_imsi: string;
  readonly p_iccid: string;
  readonly p_service_profile: string;
  readonly p_status: AssetStatus | null;
  readonly p_pending: string | null;
}

/** The columns of an `AssetRow`, by its names. */
const ASSET = {
  uuid: "a.uuid",
  account_id: "a.account_id",
  serial_number: "a.serial_number",
  name: "a.name",
  type: "a.type",
  created_at: "a.created_at",
  s_sid: "s.sid",
  s_iccid: "s.iccid",
  s_network_group: "s.network_group",
  s_status: "s.status",
  s_pending: "s.pending",
  p_imsi: "p.imsi",
  p_iccid: "p.iccid",
  p_service_profile: "p.service_profile",
  p_status: "p.status",
  p_pending: "p.pending",
} as const satisfies Readonly<Record<keyof AssetRow, string>>;

/** Columns and joins of an `AssetRow`, for a query with the table alias `a`. */
export const ASSET_COLUMNS = columnsSql(ASSET);
export const ASSET_JOINS = /* sql */ `
  LEFT JOIN sims s ON s.asset_uuid = a.uuid AND s.kind = 'supersim'
  LEFT JOIN sims p ON p.asset_uuid = a.uuid AND p.kind = 'prosim'`;

/** The text of a pending change, as `toPending` reads it; `null` if there is none. */
export function pendingText(pending: PendingChange | undefined): string | null {
  return pending ? JSON.stringify(pending) : null;
}

function toPending(text: string | null): { readonly pending?: PendingChange } {
  return text === null ? {} : { pending: JSON.parse(text) as PendingChange };
}

/** Returns the boots that are stored of a device. */
export function toBoots(text: string | null): DeviceBoots | undefined {
  return text === null ? undefined : (JSON.parse(text) as DeviceBoots);
}

export function toAsset(row: AssetRow): Asset {
  return {
    uuid: row.uuid,
    accountId: row.account_id,
    serialNumber: row.serial_number,
    name: row.name,
    type: row.type,
    createdAt: row.created_at,
    supersim:
      row.s_status === null
        ? undefined
        : {
            sid: row.s_sid,
            iccid: row.s_iccid,
            networkGroup: row.s_network_group,
            status: row.s_status,
            ...toPending(row.s_pending),
          },
    prosim:
      row.p_status === null
        ? undefined
        : {
            imsi: row.p_imsi,
            iccid: row.p_iccid,
            serviceProfile: row.p_service_profile,
            status: row.p_status,
            ...toPending(row.p_pending),
          },
  };
}

/** Whether a running instance holds the session of the device. The parameter is the service time. */
export const isConnectedSql = (nowParameter: string): string =>
  `(t.instance_id IS NOT NULL AND t.instance_id IN (SELECT i.id FROM instances i WHERE i.lease_until_ms > ${nowParameter}))`;

/**
 * When the device was last seen. While the session of a dead instance has not been ended yet, that is when the instance last
 * renewed its lease, as it will be. The parameters are the service time, and `renewalOffset`.
 */
export const lastSeenSql = (nowParameter: string, offsetParameter: string): string => /* sql */ `
  CASE WHEN t.instance_id IS NULL OR ${isConnectedSql(nowParameter)} THEN t.last_seen_at ELSE coalesce((
    SELECT CASE WHEN (i.lease_until_ms + ${offsetParameter}) / 1000 > t.last_seen_at
      THEN (i.lease_until_ms + ${offsetParameter}) / 1000 END
    FROM instances i WHERE i.id = t.instance_id), t.last_seen_at) END`;

/** Returns what makes the time of day of the last renewal from the end of a lease, which is in service time. */
export const renewalOffset = ({ now, serviceNowMs }: StateTime): number =>
  now * 1000 - serviceNowMs - INSTANCE_LEASE_MS;

/** The state of an asset, in one row with it. */
interface StateRow {
  readonly is_connected: boolean | 0 | 1 | null;
  readonly last_seen_at: number | null;
  readonly agent_version: string | null;
  readonly reasons: number | null;
  readonly budget_spent_until: number | null;
  readonly accepted_at: number | null;
  readonly boots: string | null;
  readonly updated_at: number;
}

const stateSql = (nowParameter: string, offsetParameter: string): Readonly<Record<keyof StateRow, string>> => ({
  is_connected: isConnectedSql(nowParameter),
  last_seen_at: lastSeenSql(nowParameter, offsetParameter),
  agent_version: "t.agent_version",
  reasons: "t.reasons",
  budget_spent_until: "t.budget_spent_until",
  accepted_at: "t.accepted_at",
  boots: "a.boots",
  updated_at: "a.updated_at",
});

/** Columns of the state of an asset, after `ASSET_COLUMNS`, and their join. The parameters are those of `lastSeenSql`. */
export const stateColumns = (nowParameter: string, offsetParameter: string): string =>
  columnsSql(stateSql(nowParameter, offsetParameter));
export const STATE_JOIN = "LEFT JOIN asset_states t ON t.asset_uuid = a.uuid";

function columnsSql(columns: Readonly<Record<string, string>>): string {
  return Object.entries(columns)
    .map(([name, sql]) => `${sql} AS ${name}`)
    .join(", ");
}

type FullRow = AssetRow & StateRow;

/** The place of each column in a row of values. */
const PLACES = Object.fromEntries(
  [...Object.keys(ASSET), ...Object.keys(stateSql("", ""))].map((name, place) => [name, place]),
) as Readonly<Record<keyof FullRow, number>>;

function valueOf<N extends keyof FullRow>(row: readonly unknown[], name: N): FullRow[N] {
  return row[PLACES[name]] as FullRow[N];
}

/** @param row values of `ASSET_COLUMNS` and then of `stateColumns`: a list has no time for an object for each row */
export function toAssetWithState(row: readonly unknown[]): AssetWithState {
  const sStatus = valueOf(row, "s_status");
  const pStatus = valueOf(row, "p_status");
  return {
    asset: {
      uuid: valueOf(row, "uuid"),
      accountId: valueOf(row, "account_id"),
      serialNumber: valueOf(row, "serial_number"),
      name: valueOf(row, "name"),
      type: valueOf(row, "type"),
      createdAt: valueOf(row, "created_at"),
      supersim:
        sStatus === null
          ? undefined
          : {
              sid: valueOf(row, "s_sid"),
              iccid: valueOf(row, "s_iccid"),
              networkGroup: valueOf(row, "s_network_group"),
              status: sStatus,
              ...toPending(valueOf(row, "s_pending")),
            },
      prosim:
        pStatus === null
          ? undefined
          : {
              imsi: valueOf(row, "p_imsi"),
              iccid: valueOf(row, "p_iccid"),
              serviceProfile: valueOf(row, "p_service_profile"),
              status: pStatus,
              ...toPending(valueOf(row, "p_pending")),
            },
    },
    state: {
      isConnected: Boolean(valueOf(row, "is_connected")),
      lastSeenAt: valueOf(row, "last_seen_at") ?? undefined,
      agentVersion: valueOf(row, "agent_version") ?? undefined,
      reasonBits: valueOf(row, "reasons") ?? 0,
      budgetSpentUntil: valueOf(row, "budget_spent_until") ?? undefined,
      acceptedAt: valueOf(row, "accepted_at") ?? undefined,
      boots: toBoots(valueOf(row, "boots")),
      updatedAt: valueOf(row, "updated_at"),
    },
  };
}
