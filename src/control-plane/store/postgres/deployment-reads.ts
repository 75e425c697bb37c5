import { type Deployment, isFinished, type UndeliveredDeployment } from "../../core/deployment.ts";
import { type DeploymentRow, type EventRow, toDeployment, toUndelivered } from "../deployment-row.ts";
import { type EventBatch, MAX_UNDELIVERED } from "../deployments.ts";
import { FIND_ALL, LIST_UNDELIVERED, READ_EVENTS } from "./deployment-statements.ts";
import type { Queryable } from "./pool.ts";

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

export async function findAll(client: Queryable, ids: readonly string[]): Promise<readonly (Deployment | undefined)[]> {
  const { rows } = await client.query<DeploymentRow>(FIND_ALL, [ids]);
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => {
    const row = found.get(id);
    return row && toDeployment(row);
  });
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
    isOver: first === undefined || isFinished(first),
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
