import type { Deployment, UndeliveredDeployment } from "../../core/deployment.ts";
import { type DeploymentRow, toDeployment, toUndelivered } from "../deployment-row.ts";
import { MAX_UNDELIVERED, type StoredEvent } from "../deployments.ts";
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

export async function readAllEvents(
  client: Queryable,
  ranges: readonly EventRange[],
): Promise<readonly (readonly StoredEvent[])[]> {
  const events = ranges.map((): StoredEvent[] => []);
  const { rows } = await client.query<StoredEvent & Numbered>(READ_EVENTS, [
    ranges.map(({ id }) => id),
    ranges.map(({ after }) => after),
    ranges.map(({ limit }) => limit),
  ]);
  for (const { number, seq, json } of rows) events[number - 1]?.push({ seq, json });
  return events;
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
