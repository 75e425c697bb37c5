import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { type DeploymentEvent, isFinal } from "../../../src/protocol/deployment-event.ts";
import { type ListedContainer, listContainers } from "../system/engine-containers.ts";
import { waitFor } from "../wait-for.ts";
import type { RetryingClient } from "./client.ts";
import { type ExpectedApp, expectedApps, specHash } from "./expected-apps.ts";
import type { ChaosSystem } from "./chaos-system.ts";

/** Longest until an app that somebody removed runs again: two looks of the keeper and its first pause between tries. */
const REPAIRED_MS = 90_000;
const ENDED_MS = 120_000;

/**
 * Waits until the world has come to rest, and checks what must always hold against the client, the control plane's
 * record, the agent's store and the engine. Throws with what does not hold. Nothing may be broken any more.
 */
export async function checkInvariants(world: ChaosSystem): Promise<void> {
  for (const client of world.clients) {
    await within(ENDED_MS, client.finished, () => `no final event of ${describe(client)}`);
    checkStream(client);
    await checkRecord(world, client);
  }
  await waitFor("the agent to have nothing unacknowledged", () => unacknowledgedDeployments(world).length === 0, {
    timeoutMs: 60_000,
  });
  await waitFor("the engine to run what it should", () => engineViolations(world).then(throwIfAny), {
    timeoutMs: REPAIRED_MS,
    intervalMs: 250,
  });
  throwIfAny(storeViolations(world));
}

/** The client sees every event once, in order, and exactly one final one, the last. */
function checkStream(client: RetryingClient): void {
  const { events } = client;
  if (events.some(({ seq }, index) => seq !== index + 1))
    throw new Error(`not in order, each once: ${describe(client)}`);
  const last = events.at(-1);
  if (!last || !isFinal(last) || events.filter(isFinal).length !== 1) {
    throw new Error(`not exactly one final event, at the end: ${describe(client)}`);
  }
}

/** What is on record is what was streamed. */
async function checkRecord(world: ChaosSystem, client: RetryingClient): Promise<void> {
  const path = `/edge/deployments/${client.deploymentId}`;
  const record = (await (await world.get(path)).json()) as { status: string; code?: string };
  const text = await (await world.get(`${path}/events`)).text();
  const stored = text.split("\n").flatMap((line) => (line ? [JSON.parse(line.slice(6)) as DeploymentEvent] : []));
  if (JSON.stringify(stored) !== JSON.stringify(client.events)) {
    throw new Error(`the record differs from what was streamed: ${JSON.stringify(stored)}, ${describe(client)}`);
  }
  if (record.status !== client.final?.status) throw new Error(`the record says ${record.status}: ${describe(client)}`);
}

async function engineViolations(world: ChaosSystem): Promise<string[]> {
  const all = await listContainers(world.engineSocket);
  const own = all.filter(({ Labels }) => Labels?.[LABELS.app]?.startsWith(world.prefix));
  const apps = expectedApps(world.clients);
  const strange = own.filter(({ Labels }) => !apps.has(Labels[LABELS.app] ?? ""));
  return [
    ...world.clients.flatMap((client) => leftOver(client, own)),
    ...[...apps].flatMap(([name, app]) => appViolations(name, app, own)),
    ...strange.map(({ Names }) => `a container of no app: ${Names.join()}`),
  ];
}

/** After Fail nothing of the deployment is left. */
function leftOver(client: RetryingClient, containers: readonly ListedContainer[]): string[] {
  if (client.final?.status !== "Fail") return [];
  const own = containers.filter(({ Labels }) => Labels[LABELS.deployment] === client.deploymentId);
  return own.map(({ State }) => `a container that is ${State} after ${describe(client)}`);
}

/** One container for each app, made from what was asked for, running unless it was stopped. */
function appViolations(name: string, app: ExpectedApp, containers: readonly ListedContainer[]): string[] {
  const [container, ...others] = containers.filter(({ Labels }) => Labels[LABELS.app] === name);
  // One that is stopped needs none: it is made when the app is started.
  if (!container && !app.isRunning) return [];
  if (!container || others.length > 0) return [`${others.length + (container ? 1 : 0)} containers of ${name}`];
  const faults = (container.State === "running") === app.isRunning ? [] : [`${name} is ${container.State}`];
  if (container.Labels[LABELS.specHash] !== specHash(app)) faults.push(`another specification of ${name}`);
  return faults;
}

/** The agent knows the apps there are, and no others. */
function storeViolations(world: ChaosSystem): string[] {
  const apps = query(world, "SELECT name FROM apps ORDER BY name");
  const [is, should] = [JSON.stringify(apps), JSON.stringify([...expectedApps(world.clients).keys()].toSorted())];
  return is === should ? [] : [`the agent's store has the apps ${is}, it should have ${should}`];
}

/** Deployments whose end the agent has not seen acknowledged. */
function unacknowledgedDeployments(world: ChaosSystem): unknown[] {
  return query(world, "SELECT id FROM deployments");
}

function query(world: ChaosSystem, sql: string): unknown[] {
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

function throwIfAny(faults: readonly string[]): true {
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return true;
}

function describe({ deploymentId, request, events }: RetryingClient): string {
  const told = events.map(
    ({ seq, status, step, code, message }) => `${seq} ${status} ${step} ${code ?? ""} ${message}`,
  );
  return `${deploymentId} (${request.name}):\n  ${told.join("\n  ")}`;
}

async function within<T>(ms: number, promise: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(what())), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
