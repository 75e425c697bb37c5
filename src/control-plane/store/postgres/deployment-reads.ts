import { isFinal } from "../../../protocol/deployments/deployment-event.ts";
import type { Deployment, UndeliveredDeployment } from "../../core/deployment.ts";
import { type DeploymentRow, type EventRow, toDeployment, toUndelivered } from "../deployment-row.ts";
import { type EventBatch, MAX_UNDELIVERED } from "../deployments.ts";
import { FIND_ALL, FIND_HOLDERS, IS_CURRENT_SESSION, LIST_UNDELIVERED, READ_EVENTS } from "./deployment-statements.ts";
import type { SessionFence } from "../sessions.ts";
import type { Queryable } from "../sql/postgres-executor.ts";

// Reads that are answered together, each in the order of its inputs.

/** A part of the events of a deployment. */
export interface EventRange {
  readonly id: string;
  /** The `seq` before the first. */
  readonly after: number;
  readonly limit: number;
}

export interface DeviceOfSession {
  readonly asset: string;
  /** The session to be confirmed; `undefined`: none. */
  readonly epoch: number | undefined;
}

export interface Undelivered {
  /** Whether the session is the one of the device. */
  readonly isValid: boolean;
  readonly deployments: readonly UndeliveredDeployment[];
}

/** A read of a deployment, for a session if there is one. */
export interface FencedRead {
  readonly id: string;
  readonly fence: SessionFence | undefined;
}

export interface Found {
  readonly deployment: Deployment | undefined;
  /** Whether the session is the one of its device. */
  readonly isValid: boolean;
}

export async function findAll(client: Queryable, reads: readonly FencedRead[]): Promise<readonly Found[]> {
  const ids = [...new Set(reads.map(({ id }) => id))];
  const { rows } = await client.query<DeploymentRow>(FIND_ALL, [ids]);
  const found = new Map(rows.map((row) => [row.id, row]));
  return Promise.all(
    reads.map(async ({ id, fence }) => {
      const row = found.get(id);
      const isValid = fence === undefined || (await isCurrent(client, fence, row));
      return { deployment: row && toDeployment(row), isValid };
    }),
  );
}

/** Needs a statement of its own only if the deployment is not one of the session's device. */
async function isCurrent(
  client: Queryable,
  { assetUuid, epoch }: SessionFence,
  row: DeploymentRow | undefined,
): Promise<boolean> {
  if (row?.asset_uuid === assetUuid) return row.epoch === epoch;
  return (await client.query(IS_CURRENT_SESSION, [assetUuid, epoch])).rowCount > 0;
}

export async function findHolders(
  client: Queryable,
  assetUuids: readonly string[],
): Promise<readonly (string | undefined)[]> {
  const { rows } = await client.query<{ asset: string; holder: string | null }>(FIND_HOLDERS, [assetUuids]);
  const holders = new Map(rows.map(({ asset, holder }) => [asset, holder ?? undefined]));
  return assetUuids.map((assetUuid) => holders.get(assetUuid));
}

export async function readAllEvents(client: Queryable, ranges: readonly EventRange[]): Promise<readonly EventBatch[]> {
  const { rows } = await client.query<EventRow & FoundEvents>(READ_EVENTS, [
    ranges.map(({ id }) => id),
    ranges.map(({ after }) => after),
    ranges.map(({ limit }) => limit),
  ]);
  const rowsOf = Map.groupBy(rows, ({ number }) => number);
  return ranges.map(({ limit }, index) => toBatch(rowsOf.get(index + 1) ?? [], limit));
}

interface FoundEvents extends Numbered {
  /** How many events there are up to the limit, also those that do not fit. */
  readonly found: number;
}

function toBatch(rows: readonly (EventRow & FoundEvents)[], limit: number): EventBatch {
  const events = rows.flatMap(({ seq, json }) => (seq === null ? [] : [{ seq, json }]));
  const [first] = rows;
  const found = first?.found ?? 0;
  return {
    events,
    hasMore: found > events.length || found === limit,
    isOver: first === undefined || isFinal(first),
  };
}

export async function listAllUndelivered(
  client: Queryable,
  devices: readonly DeviceOfSession[],
): Promise<readonly Undelivered[]> {
  const { rows } = await client.query<UndeliveredRow>(LIST_UNDELIVERED, [
    devices.map(({ asset }) => asset),
    devices.map(({ epoch }) => epoch ?? null),
    MAX_UNDELIVERED,
  ]);
  const rowsOf = Map.groupBy(rows, ({ number }) => number);
  return devices.map((_, index) => {
    const own = rowsOf.get(index + 1) ?? [];
    return { isValid: own[0]?.isValid === true, deployments: own.filter(({ id }) => id !== null).map(toUndelivered) };
  });
}

interface Numbered {
  /** Of the input that the row is for, from 1. */
  readonly number: number;
}

interface UndeliveredRow extends Numbered {
  readonly isValid: boolean;
  readonly id: string | null;
}
