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

/** Columns and joins of an `AssetRow`, for a query with the table alias `a`. */
export const ASSET_COLUMNS = /* sql */ `
  a.uuid, a.account_id, a.serial_number, a.name, a.type, a.created_at,
  s.sid AS s_sid, s.iccid AS s_iccid, s.network_group AS s_network_group, s.status AS s_status, s.pending AS s_pending,
  p.imsi AS p_imsi, p.iccid AS p_iccid, p.service_profile AS p_service_profile, p.status AS p_status,
  p.pending AS p_pending`;
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

/** Columns of the state of an asset, after `ASSET_COLUMNS`, and their join. The parameters are those of `lastSeenSql`. */
export const stateColumns = (nowParameter: string, offsetParameter: string): string =>
  `${isConnectedSql(nowParameter)} AS is_connected, ${lastSeenSql(nowParameter, offsetParameter)} AS last_seen_at,
   t.agent_version, t.reasons, t.budget_spent_until, t.accepted_at, a.boots, a.updated_at`;
export const STATE_JOIN = "LEFT JOIN asset_states t ON t.asset_uuid = a.uuid";

/** The values of `ASSET_COLUMNS` and of `stateColumns`. */
type Values = readonly [
  ...asset: readonly [string, string, string, string, string, number],
  ...supersim: readonly [string, string, string, AssetStatus | null, string | null],
  ...prosim: readonly [string, string, string, AssetStatus | null, string | null],
  ...state: readonly [
    boolean | 0 | 1 | null,
    number | null,
    string | null,
    number | null,
    number | null,
    number | null,
    string | null,
    number,
  ],
];

/** @param row values of `ASSET_COLUMNS` and then of `stateColumns` */
export function toAssetWithState(row: readonly unknown[]): AssetWithState {
  const values = row as Values;
  const sStatus = values[9];
  const pStatus = values[14];
  return {
    asset: {
      uuid: values[0],
      accountId: values[1],
      serialNumber: values[2],
      name: values[3],
      type: values[4],
      createdAt: values[5],
      supersim:
        sStatus === null
          ? undefined
          : { sid: values[6], iccid: values[7], networkGroup: values[8], status: sStatus, ...toPending(values[10]) },
      prosim:
        pStatus === null
          ? undefined
          : {
              imsi: values[11],
              iccid: values[12],
              serviceProfile: values[13],
              status: pStatus,
              ...toPending(values[15]),
            },
    },
    state: {
      isConnected: Boolean(values[16]),
      lastSeenAt: values[17] ?? undefined,
      agentVersion: values[18] ?? undefined,
      reasonBits: values[19] ?? 0,
      budgetSpentUntil: values[20] ?? undefined,
      acceptedAt: values[21] ?? undefined,
      boots: toBoots(values[22]),
      updatedAt: values[23],
    },
  };
}
