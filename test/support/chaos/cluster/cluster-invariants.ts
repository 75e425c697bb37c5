import { eventMessage } from "../../control-plane/device-model.ts";
import { waitFor } from "../../wait-for.ts";
import type { RetryingClient } from "../client.ts";
import { checkClient, checkInvariants, describe } from "../invariants.ts";
import type { ClusterChaos, ModelSite } from "./cluster-chaos.ts";

const IDLE_MS = 300_000;

/**
 * Waits until the system is idle and checks the promises for every deployment so far: of each client's stream, the record,
 * the devices, the agent's engine, and the database. Throws with the violations. Must be called after `recover`.
 */
export async function checkCluster(system: ClusterChaos): Promise<void> {
  for (const client of system.allClients) await checkOnce(system, client);
  for (const [first, second] of system.repeated) {
    await checkOnce(system, second);
    if (first.deploymentId === second.deploymentId) continue;
    throw new Error(`the same key, but two deployments: ${describe(first)}\n${describe(second)}`);
  }
  for (const site of system.sites) await checkModel(site);
  await checkInvariants(system);
  await checkDatabase(system);
  const violations = [...system.instances.unexpectedEnds, ...endedTwice(system), ...wrongRefusals(system)];
  if (violations.length > 0) throw new Error(violations.join("\n"));
}

/** The record of a deployment that has ended is compared with its stream once, and later by its end. */
async function checkOnce({ checked }: ClusterChaos, client: RetryingClient): Promise<void> {
  if (checked.has(client)) return;
  await checkClient(client);
  checked.add(client);
}

/** The device has nothing in progress, and what it says of each deployment is what the client was told. */
async function checkModel({ device: { model }, asset, clients }: ModelSite): Promise<void> {
  await waitFor(`${asset.serialNumber} to have nothing in progress`, () => model.held.size === 0, {
    timeoutMs: IDLE_MS,
  });
  for (const client of clients) {
    const onDevice = model.ended.get(client.deploymentId ?? "");
    const told = client.final?.status;
    // One that never reached the device fails.
    const matches = told === onDevice || (told === "Fail" && onDevice === undefined);
    if (!matches) throw new Error(`the device says ${onDevice}, the client was told ${told}: ${describe(client)}`);
    checkDeviceEvents(client);
  }
  if (model.undoneAfterSuccess.length > 0) {
    throw new Error(`${asset.serialNumber} was told to undo what had succeeded: ${model.undoneAfterSuccess.join()}`);
  }
  const known = new Set(clients.map(({ deploymentId }) => deploymentId));
  const unknown = [...model.ended.keys()].filter((id) => !known.has(id));
  if (unknown.length > 0) throw new Error(`${asset.serialNumber} has deployments of no client: ${unknown.join()}`);
}

/** Events of the device reach the client from the first one on, without gaps, and a success is the device's own event. */
function checkDeviceEvents(client: RetryingClient): void {
  const fromDevice = client.events.filter(({ message }) => message.endsWith(" of the device"));
  const isExpected = client.events.flatMap(({ status, message }) => {
    const number = fromDevice.findIndex((event) => event.message === message) + 1;
    // Of a failure, a success that was given up may be missing before it.
    if (status === "Fail" || (number === 0 && status === "Running")) return [];
    return [message === eventMessage(number)];
  });
  if (!isExpected.every(Boolean))
    throw new Error(`events of the device are missing or out of order: ${describe(client)}`);
}

/** What the database holds is whole, and nothing in it waits. */
async function checkDatabase({ cluster, allClients, sites }: ClusterChaos): Promise<void> {
  const query = (sql: string): Promise<string> => cluster.postgres.execute(sql, cluster.databaseName);
  const records = (await query("SELECT id, status, last_seq FROM deployments")).split("\n").toSorted();
  const told = allClients
    .map(({ deploymentId, final }) => [deploymentId, final?.status, final?.seq].join("|"))
    .toSorted();
  const differences = [
    ...records.filter((record) => !told.includes(record)).map((record) => `on record: ${record}`),
    ...told.filter((end) => !records.includes(end)).map((end) => `told: ${end}`),
  ];
  if (differences.length > 0) throw new Error(`the record differs from what was streamed:\n${differences.join("\n")}`);
  const broken = await query(`
    SELECT id, status, last_seq, count(seq), max(seq), count(*) FILTER (WHERE said IN ('Success', 'Fail'))
    FROM deployments
    LEFT JOIN (SELECT deployment_id, seq, event::json ->> 'status' AS said FROM deployment_events) AS events
      ON deployment_id = id
    GROUP BY id
    HAVING status = 'Running' OR last_seq <> max(seq) OR count(seq) <> max(seq)
      OR count(*) FILTER (WHERE said IN ('Success', 'Fail')) <> 1`);
  if (broken !== "") throw new Error(`records that are not whole (id, status, last_seq, events, ends):\n${broken}`);
  await waitFor("every device to be on record with an instance that serves", async () => {
    const served = await query(`
      SELECT count(*) FROM device_sessions JOIN instances ON instances.id = instance_id`);
    return Number(served) === sites.length + 1;
  });
}

/** The end of each deployment is written once, by one instance. */
function endedTwice({ cluster }: ClusterChaos): string[] {
  const lines = cluster.instances.flatMap((instance) => instance.output().split("\n"));
  const ids = lines.flatMap((line) => {
    return line.includes('"deployment ended"') ? [/"deployment_id":"([^"]+)"/.exec(line)?.[1] ?? ""] : [];
  });
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  return repeated.map((id) => `the end of ${id} was logged more than once`);
}

/** A service that cannot do something now says 503, or is not reached through the proxy: nothing else. */
function wrongRefusals({ allClients, repeated }: ClusterChaos): string[] {
  return [...allClients, ...repeated.values()].flatMap((client) => {
    const wrong = client.refusals.filter((status) => status !== 503);
    return wrong.length > 0 ? [`responses with ${wrong.join()} to the client of ${describe(client)}`] : [];
  });
}
