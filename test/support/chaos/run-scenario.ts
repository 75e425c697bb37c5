import { statusOf } from "../../../src/control-plane/core/deployment.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import type { ContainerStatus } from "../../../src/agent/core/app/container-status.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { StoreError } from "../../../src/agent/store/store.ts";
import { type EventContent, isFinal } from "../../../src/protocol/deployments/deployment-event.ts";
import { AgentRig } from "../agent-rig.ts";
import { layersOf } from "../fake-engine/fake-image.ts";
import type { FakeContainer } from "../fake-engine/fake-container.ts";
import type { AppRequest } from "../system.ts";
import { tempDir } from "../temp-dir.ts";
import { keptViolations, placedFiles } from "./kept-violations.ts";
import { ModelControlPlane } from "./model-control-plane.ts";
import { withCrashPoints, CrashInjector } from "./crash-injector.ts";
import type { RemainingApp, Scenario } from "./scenario.ts";
import { SeededRandom } from "./seeded-random.ts";

/**
 * What crashes: the agent alone; the machine, whose containers restart with it; or agent and engine, with the
 * containers left stopped, as by Docker 20.10 when it is killed.
 */
export const CRASH_KINDS = ["killed", "power cut", "engine killed too"] as const;
export type CrashKind = (typeof CRASH_KINDS)[number];

/** States of containers that the death of the engine changes. */
const LIVE: ReadonlySet<ContainerStatus> = new Set(["running", "restarting", "paused"]);

const TICK_MS = 50;
const MAX_SCENARIO_MS = 400_000;
/**
 * A scenario that does not end is given up after this much real time as well: the files of apps are written to the real disk,
 * and on a busy one the simulated time passes within a single flush.
 */
const MIN_REAL_MS = 30_000;
const REAL_PAUSE_MS = 10;
/** Long enough for two more runs of the reconciler. */
const SETTLE_MS = 70_000;

/** The deployment of the app that is installed before the scenario begins. */
const INITIAL_DEPLOYMENT_ID = "before";

export interface ScenarioResult {
  /** Whether the agent crashed at every given moment. */
  readonly died: boolean;
  /** Whether no container ran at the crash, so that one of the agent alone is the same. Then the run was not continued. */
  readonly isSameAsKilled: boolean;
  /** Violated invariants; empty if all hold. */
  readonly violations: readonly string[];
}

/** Runs a scenario with an agent that crashes at the given moments, one in each life. */
export async function runScenario(
  scenario: Scenario,
  moments: readonly number[],
  crashKind: CrashKind,
  seed: number,
): Promise<ScenarioResult> {
  await using directory = await tempDir();
  const stateDir = directory.path;
  const hostState = (): string => `${rig.clock.monotonic()} ${scenario.contents ? placedFiles(stateDir) : ""}`;
  const crashes = new CrashInjector(hostState, ...moments);
  const written = new Map<string, EventContent[]>();
  await using rig = new AgentRig({ pullBy: scenario.pullBy ?? "agent", stateDir }, (store) =>
    withCrashPoints(store, crashes, (id, event) => written.set(id, [...(written.get(id) ?? []), event])),
  );
  scenario.setUp(rig);
  for (const upload of scenario.uploads ?? []) rig.uploads.add(upload);
  rig.uploads.onChunk = () => {
    crashes.changed();
    crashes.checkpoint();
  };
  crashes.isDisabled = true;
  await install(scenario, rig);
  crashes.isDisabled = false;
  const startedAt = rig.clock.monotonic();
  const begunAt = performance.now();
  const control = new ModelControlPlane(rig.clock, new SeededRandom(seed), () => crashes.changed());
  using _events = rig.store.onEvents(() => control.onEvents());
  for (const [index, request] of scenario.requests.entries()) control.request(`d${index}`, request);
  const found = new Set<string>();
  let engineAnswers = true;
  rig.engine.faults.onCall(({ method, phase }) => {
    crashes.engineCall({ method, phase });
    if (!engineAnswers && phase === "before") throw new EngineError("unavailable", "connect ENOENT");
  });

  let crashCount = 0;
  let reconciler = startReconciler(rig);
  const interventions = [...(scenario.interventions ?? [])];
  ignoreStoreErrors(() => control.connect(rig.deployments, rig.store));
  let quietSince: number | undefined;
  for (;;) {
    const now = rig.clock.monotonic() - startedAt;
    if (now > MAX_SCENARIO_MS) {
      if (performance.now() - begunAt > MIN_REAL_MS) break;
      await sleep(REAL_PAUSE_MS);
    }
    if (crashes.hasCrashed) {
      crashCount++;
      quietSince = undefined;
      // A dead process notes nothing, and the reconciler does not wait for a turn that never comes.
      rig.crashGuard[Symbol.dispose]();
      await reconciler.stop();
      if (crashKind === "engine killed too" && !rig.engine.containers.some(({ status }) => LIVE.has(status)))
        return { died: true, isSameAsKilled: true, violations: [] };
      if (crashKind === "power cut") rig.engine.reboot();
      if (crashKind === "engine killed too") for (const container of rig.engine.containers) container.stop();
      crashes.reset();
      try {
        await rig.restart(crashKind === "power cut" ? crashKind : "killed");
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
      reconciler = startReconciler(rig);
      ignoreStoreErrors(() => control.connect(rig.deployments, rig.store));
      continue;
    }
    while (interventions[0] && interventions[0].atMs <= now) {
      const intervention = interventions.shift();
      if (intervention?.kind === "engine") engineAnswers = intervention.answers;
      if (intervention?.kind === "cancel") ignoreStoreErrors(() => control.cancel(rig.deployments, "d0"));
    }
    if (now >= (scenario.silentMs ?? 0)) ignoreStoreErrors(() => control.exchange(rig.deployments, rig.store));
    const isQuiet = control.isDone && rig.store.deployments().length === 0 && !crashes.hasCrashed;
    quietSince = isQuiet ? (quietSince ?? now) : undefined;
    if (quietSince !== undefined && now - quietSince >= SETTLE_MS) break;
    await rig.clock.advance(isQuiet ? 5_000 : TICK_MS);
    for (const app of runningTwice(rig)) found.add(`two containers of ${app} ran at once`);
  }
  await reconciler.stop();
  const kept = keptViolations(scenario, rig, stateDir);
  for (const violation of [...violations(scenario, rig, control, written), ...kept]) found.add(violation);
  return { died: crashCount === moments.length, isSameAsKilled: false, violations: [...found] };
}

/** Sets up the device's initial state. */
async function install({ installed, installedGroup, isStopped }: Scenario, rig: AgentRig): Promise<void> {
  if (installedGroup) {
    rig.deployments.apply(INITIAL_DEPLOYMENT_ID, installedGroup);
    const end = await rig.untilEnd(INITIAL_DEPLOYMENT_ID);
    if (end?.status !== "Success") throw new Error(`the group could not be installed: ${JSON.stringify(end)}`);
    rig.store.acknowledge(INITIAL_DEPLOYMENT_ID, end.device_seq);
  }
  if (!installed) return;
  rig.deployments.deploy(INITIAL_DEPLOYMENT_ID, installed);
  const { device_seq } = (await rig.untilEnd(INITIAL_DEPLOYMENT_ID)) ?? { device_seq: 0 };
  rig.store.acknowledge(INITIAL_DEPLOYMENT_ID, device_seq);
  if (!isStopped) return;
  rig.deployments.change("stopped before", { action: "stop", app: installed.name });
  const stopped = await rig.untilEnd("stopped before");
  rig.store.acknowledge("stopped before", stopped?.device_seq ?? 0);
}

/** Apps with more than one running container. */
function runningTwice({ engine }: AgentRig): string[] {
  const running = engine.containers.filter(({ status }) => status === "running");
  const apps = running.map(({ request }) => request.labels[LABELS.app] ?? "");
  return apps.filter((app, index) => apps.indexOf(app) !== index);
}

/** Ignores store errors, which simulate a crash. The real link logs such an error and continues. */
function ignoreStoreErrors(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

function startReconciler(rig: AgentRig): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const rebuild = { isSet: false, clear: () => {} };
  const { deployments } = rig;
  const reconciler = new AppReconciler({
    ...rig.services,
    rebuild,
    lease: (app) => deployments.lease(app),
    endedRuns: () => deployments.endedRuns,
  });
  const running = reconciler.run(stopped.signal);
  return {
    stop() {
      stopped.abort();
      return running;
    },
  };
}

function violations(
  scenario: Scenario,
  rig: AgentRig,
  control: ModelControlPlane,
  written: ReadonlyMap<string, readonly EventContent[]>,
): string[] {
  const found: string[] = [];
  const expectThat = (holds: boolean, what: string): void => void (holds || found.push(what));
  for (const [index, end] of scenario.outcomes.entries()) {
    const id = `d${index}`;
    const status = statusOf(control.deployment(id));
    const stream = control.streams.get(id) ?? [];
    expectThat(status === end, `${id} is ${status}, not ${end}: ${JSON.stringify(stream)}`);
    expectThat(
      stream.filter(isFinal).length === 1 && isFinal(stream.at(-1) ?? { status }),
      `${id}: expected one final event`,
    );
    expectThat(
      isReported(stream, written.get(id) ?? []),
      `${id}: stored ${JSON.stringify(written.get(id))}, streamed ${JSON.stringify(stream)}`,
    );
  }
  const apps = rig.store.apps().map(({ name, deploymentId, desired }) => `${name} of ${deploymentId}, ${desired}`);
  const wanted = scenario.remainingApps.map(
    (remaining) => `${remaining.app} of ${deploymentOf(remaining)}, ${remaining.stopped ? "stopped" : "running"}`,
  );
  expectThat(JSON.stringify(apps) === JSON.stringify(wanted), `unexpected apps in the store: ${apps.join("; ")}`);
  const containers = rig.engine.containers;
  expectThat(
    containers.length === scenario.remainingApps.length,
    `unexpected containers: ${containers.map(({ name, status }) => `${name} ${status}`).join()}`,
  );
  for (const remaining of scenario.remainingApps) {
    const own = containers.filter(({ request }) => request.labels[LABELS.app] === remaining.app);
    expectThat(
      own.length === 1 && matchesRequest(own[0], remaining, scenario),
      `${remaining.app} differs from its request`,
    );
  }
  const { received } = rig.downloader;
  expectThat(received <= bytesPublished(rig), `${received} bytes were downloaded of ${bytesPublished(rig)}`);
  expectThat(rig.store.deployments().length === 0, "the store has deployments that have ended");
  return found;
}

/** Bytes of all images in the registry. A crash must not cause a second download of any of them. */
function bytesPublished({ engine }: AgentRig): number {
  const images = engine.publishedAll().flatMap(([, image]) => (image instanceof EngineError ? [] : [image]));
  return images.flatMap(layersOf).reduce((sum, size) => sum + size, 0);
}

/** Whether each stored event was streamed, in order. Progress and the success of a rolled-back deployment are optional. */
function isReported(stream: readonly EventContent[], stored: readonly EventContent[]): boolean {
  const isRolledBack = stored.some(({ status }) => status === "Fail");
  const required = stored.filter(
    ({ status, progress }) => progress === undefined && !(isRolledBack && status === "Success"),
  );
  let from = 0;
  return required.every(({ status, message }) => {
    const at = stream.findIndex(
      (event, index) => index >= from && event.message === message && event.status === status,
    );
    from = at + 1;
    return at >= 0;
  });
}

function deploymentOf({ by, ofGroup }: RemainingApp): string {
  return ofGroup?.deployment ?? (by === undefined ? INITIAL_DEPLOYMENT_ID : `d${by}`);
}

function matchesRequest(container: FakeContainer | undefined, remaining: RemainingApp, scenario: Scenario): boolean {
  const { app, by, ofGroup, stopped } = remaining;
  const { installed, requests } = scenario;
  const request = by === undefined ? undefined : requests[by];
  const spec = {
    ...(request?.action === "deploy" ? undefined : installed),
    ...(request?.spec as AppRequest | undefined),
    ...ofGroup?.spec,
  };
  if (!container) return false;
  const { environment, ports, labels } = container.request;
  const wantedPorts = spec.ports?.map((port) => ({ hostPort: port.host_port, targetPort: port.target_port }));
  return (
    (container.status === "running") === !stopped &&
    container.name === app &&
    labels[LABELS.deployment] === deploymentOf(remaining) &&
    JSON.stringify(environment) === JSON.stringify(["SECRET=value"]) &&
    JSON.stringify(ports) === JSON.stringify(wantedPorts)
  );
}
