import { parseEventStream } from "../sse-client.ts";
import { join } from "node:path";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { openSnapshot } from "../../../src/lib/sqlite-snapshot.ts";
import { type DeploymentEvent, isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import { type ListedContainer, listContainers } from "../system/engine-containers.ts";
import { waitFor } from "../wait-for.ts";
import type { RetryingClient } from "./client.ts";
import { type ExpectedApp, expectedApps, specHash } from "./expected-apps.ts";
import type { ChaosSystem } from "./chaos-system.ts";

const ENDED_MS = 300_000;

/** A system with one device that has an engine. */
type CheckedSystem = Pick<ChaosSystem, "clients" | "agent" | "engineSocket" | "prefix">;

/**
 * Waits until the system is idle and checks the invariants of the client's stream, the control plane's record, the
 * agent's store and the engine. Throws with the violations. All faults must have been cleared.
 */
export async function checkInvariants(system: CheckedSystem): Promise<void> {
  for (const client of system.clients) await checkClient(client);
  await waitFor("the agent to have nothing unacknowledged", () => unacknowledgedDeployments(system).length === 0);
  await waitFor("the engine to run what it should", () => engineViolations(system).then(throwIfAny), {
    intervalMs: 250,
  });
  throwIfAny(storeViolations(system));
}

/** Waits for the end of the deployment and checks what the client received, and the record. */
export async function checkClient(client: RetryingClient): Promise<void> {
  await within(ENDED_MS, client.finished, () => `no final event of ${describe(client)}`);
  checkStream(client);
  await checkRecord(client);
}

/** The client receives every event once, in order, and exactly one final event, the last. */
function checkStream(client: RetryingClient): void {
  const { events } = client;
  if (events.some(({ seq }, index) => seq !== index + 1))
    throw new Error(`events out of order or repeated: ${describe(client)}`);
  const last = events.at(-1);
  if (!last || !isFinal(last) || events.filter(isFinal).length !== 1) {
    throw new Error(`expected exactly one final event, at the end: ${describe(client)}`);
  }
}

/** The recorded events equal the streamed ones. */
async function checkRecord(client: RetryingClient): Promise<void> {
  const path = `/edge/deployments/${client.deploymentId}`;
  const record = (await (await client.get(path)).json()) as { status: string; code?: string };
  const text = await (await client.get(`${path}/events`)).text();
  const stored = parseEventStream(text).map(({ data }) => JSON.parse(data) as DeploymentEvent);
  if (JSON.stringify(stored) !== JSON.stringify(client.events)) {
    throw new Error(`the record differs from what was streamed: ${JSON.stringify(stored)}, ${describe(client)}`);
  }
  if (record.status !== client.final?.status) throw new Error(`the record says ${record.status}: ${describe(client)}`);
}

async function engineViolations(system: CheckedSystem): Promise<string[]> {
  const all = await listContainers(system.engineSocket);
  const own = all.filter(({ Labels }) => Labels?.[LABELS.app]?.startsWith(system.prefix));
  const apps = expectedApps(system.clients);
  const unexpected = own.filter(({ Labels }) => !apps.has(Labels[LABELS.app] ?? ""));
  return [
    ...system.clients.flatMap((client) => remainingContainers(client, own)),
    ...[...apps].flatMap(([name, app]) => appViolations(name, app, own)),
    ...unexpected.map(({ Names }) => `a container of no app: ${Names.join()}`),
  ];
}

/** A failed deployment leaves no container. */
function remainingContainers(client: RetryingClient, containers: readonly ListedContainer[]): string[] {
  if (client.final?.status !== "Fail") return [];
  const own = containers.filter(({ Labels }) => Labels[LABELS.deployment] === client.deploymentId);
  return own.map(({ State }) => `a container that is ${State} after ${describe(client)}`);
}

/** Each app has one container with the requested specification, running unless it was stopped. */
function appViolations(name: string, app: ExpectedApp, containers: readonly ListedContainer[]): string[] {
  const [container, ...others] = containers.filter(({ Labels }) => Labels[LABELS.app] === name);
  // A stopped app needs no container: one is created when it is started.
  if (!container && !app.isRunning) return [];
  if (!container || others.length > 0) return [`${others.length + (container ? 1 : 0)} containers of ${name}`];
  const faults = (container.State === "running") === app.isRunning ? [] : [`${name} is ${container.State}`];
  if (container.Labels[LABELS.specHash] !== specHash(app)) faults.push(`another specification of ${name}`);
  return faults;
}

/** The agent's store has exactly the expected apps. */
function storeViolations(system: CheckedSystem): string[] {
  const apps = query(system, "SELECT name FROM apps ORDER BY name");
  const [is, should] = [JSON.stringify(apps), JSON.stringify([...expectedApps(system.clients).keys()].toSorted())];
  return is === should ? [] : [`the agent's store has the apps ${is}, it should have ${should}`];
}

/** Deployments whose final event is not acknowledged yet. */
function unacknowledgedDeployments(system: CheckedSystem): unknown[] {
  return query(system, "SELECT id FROM deployments");
}

function query(system: CheckedSystem, sql: string): unknown[] {
  using database = openSnapshot(join(system.agent.stateDir, "agent.db"));
  return database
    .prepare(sql)
    .all()
    .map((row) => Object.values(row)[0]);
}

function throwIfAny(faults: readonly string[]): true {
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return true;
}

export function describe({ deploymentId, request, events }: RetryingClient): string {
  const lines = events.map(
    ({ seq, status, step, code, message }) => `${seq} ${status} ${step} ${code ?? ""} ${message}`,
  );
  return `${deploymentId} (${request.name}):\n  ${lines.join("\n  ")}`;
}

async function within<T>(ms: number, promise: Promise<T>, what: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(what())), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
