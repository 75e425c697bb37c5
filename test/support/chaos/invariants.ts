import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { canonicalSpec, LABELS } from "../../../src/agent/core/container.ts";
import { parseAppSpec } from "../../../src/protocol/app-spec.ts";
import { type DeploymentEvent, isFinal } from "../../../src/protocol/deployment-event.ts";
import { createHash } from "node:crypto";
import { type ListedContainer, listContainers } from "../system/engine-containers.ts";
import { waitFor } from "../wait-for.ts";
import type { PatientClient } from "./client.ts";
import type { World } from "./world.ts";

/** Longest until an app that somebody removed runs again: two looks of the keeper and its first pause between tries. */
const REPAIRED_MS = 90_000;
const ENDED_MS = 120_000;

/**
 * Waits until the world has come to rest, and checks what must always hold against the client, the control plane's
 * record, the agent's store and the engine. Throws with what does not hold. Nothing may be broken any more.
 */
export async function checkInvariants(world: World): Promise<void> {
  for (const client of world.clients) {
    await within(ENDED_MS, client.finished, () => `no final event of ${describe(client)}`);
    checkStream(client);
    await checkRecord(world, client);
  }
  await waitFor("the agent to have nothing unacknowledged", () => heldBy(world).length === 0, { timeoutMs: 60_000 });
  await waitFor("the engine to run what it should", () => faultsOnEngine(world).then(throwIfAny), {
    timeoutMs: REPAIRED_MS,
    intervalMs: 250,
  });
  throwIfAny(faultsInStore(world));
}

/** The client sees every event once, in order, and exactly one final one, the last. */
function checkStream(client: PatientClient): void {
  const { events } = client;
  if (events.some(({ seq }, index) => seq !== index + 1))
    throw new Error(`not in order, each once: ${describe(client)}`);
  const last = events.at(-1);
  if (!last || !isFinal(last) || events.filter(isFinal).length !== 1) {
    throw new Error(`not exactly one final event, at the end: ${describe(client)}`);
  }
}

/** What is on record is what was streamed. */
async function checkRecord(world: World, client: PatientClient): Promise<void> {
  const path = `/edge/deployments/${client.deploymentId}`;
  const record = (await (await world.get(path)).json()) as { status: string; code?: string };
  const text = await (await world.get(`${path}/events`)).text();
  const stored = text.split("\n").flatMap((line) => (line ? [JSON.parse(line.slice(6)) as DeploymentEvent] : []));
  if (JSON.stringify(stored) !== JSON.stringify(client.events)) {
    throw new Error(`the record differs from what was streamed: ${JSON.stringify(stored)}, ${describe(client)}`);
  }
  if (record.status !== client.final?.status) throw new Error(`the record says ${record.status}: ${describe(client)}`);
}

async function faultsOnEngine(world: World): Promise<string[]> {
  const all = await listContainers(world.engineSocket);
  const own = all.filter(({ Labels }) => Labels?.[LABELS.app]?.startsWith(world.prefix));
  const known = world.clients.flatMap((client) => faultsOf(client, own));
  const ids = new Set(world.clients.map(({ deploymentId }) => deploymentId));
  const strange = own.filter(({ Labels }) => !ids.has(Labels[LABELS.deployment]));
  return [...known, ...strange.map(({ Names }) => `a container of no deployment: ${Names.join()}`)];
}

/** After Fail nothing is left; after Success one container runs, made from what was asked for. */
function faultsOf(client: PatientClient, containers: readonly ListedContainer[]): string[] {
  const own = containers.filter(({ Labels }) => Labels[LABELS.deployment] === client.deploymentId);
  if (client.final?.status === "Fail") {
    return own.map(({ State }) => `a container that is ${State} after ${describe(client)}`);
  }
  const [container, ...others] = own;
  if (!container || others.length > 0) return [`${own.length} containers after ${describe(client)}`];
  const faults =
    container.State === "running" ? [] : [`a container that is ${container.State} after ${describe(client)}`];
  if (container.Labels[LABELS.specHash] !== hashOf(client))
    faults.push(`another specification after ${describe(client)}`);
  return faults;
}

/** The agent knows the apps that run, and no others. */
function faultsInStore(world: World): string[] {
  const expected = world.clients.filter(({ final }) => final?.status === "Success").map(({ app }) => app.name);
  const apps = query(world, "SELECT name FROM apps ORDER BY name");
  const [is, should] = [JSON.stringify(apps), JSON.stringify(expected.toSorted())];
  return is === should ? [] : [`the agent's store has the apps ${is}, it should have ${should}`];
}

/** Deployments whose end the agent has not seen acknowledged. */
function heldBy(world: World): unknown[] {
  return query(world, "SELECT id FROM deployments");
}

function query(world: World, sql: string): unknown[] {
  const database = new DatabaseSync(join(world.agent.stateDir, "agent.db"), { readOnly: true });
  try {
    return database
      .prepare(sql)
      .all()
      .map((row) => Object.values(row)[0]);
  } finally {
    database.close();
  }
}

function hashOf({ app }: PatientClient): string {
  const parsed = parseAppSpec(app);
  if (!parsed.ok) throw parsed.error;
  return createHash("sha256").update(canonicalSpec(parsed.spec)).digest("hex");
}

function throwIfAny(faults: readonly string[]): true {
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return true;
}

function describe({ deploymentId, app, events }: PatientClient): string {
  const told = events.map(
    ({ seq, status, step, code, message }) => `${seq} ${status} ${step} ${code ?? ""} ${message}`,
  );
  return `${deploymentId} (${app.name}):\n  ${told.join("\n  ")}`;
}

async function within<T>(ms: number, promise: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(what())), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
