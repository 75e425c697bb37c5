import { LABELS } from "../../../src/agent/core/app/container.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { AppReconciler } from "../../../src/agent/steps/app-reconciler.ts";
import { StoreError } from "../../../src/agent/store/store.ts";
import { type EventContent, isFinal } from "../../../src/protocol/deployment-event.ts";
import { AgentRig } from "../agent-rig.ts";
import { layersOf } from "../fake-engine/fake-image.ts";
import type { FakeContainer } from "../fake-engine/fake-container.ts";
import type { AppRequest } from "../system.ts";
import { ModelControlPlane } from "./model-control-plane.ts";
import { withCrashPoints, CrashInjector } from "./crash-injector.ts";
import type { RemainingApp, Scenario } from "./scenario.ts";
import { SeededRandom } from "./seeded-random.ts";

/**
 * How the agent ends: alone; with the machine, whose containers come up again by themselves; or with an engine that
 * leaves its containers down, as Docker 20.10 does when it is killed.
 */
export const CRASH_KINDS = ["killed", "power cut", "engine killed too"] as const;
export type CrashKind = (typeof CRASH_KINDS)[number];

const TICK_MS = 50;
const MAX_SCENARIO_MS = 400_000;
/** The keeper has looked twice more when that has passed. */
const SETTLE_MS = 70_000;

/** The deployment of the app that is there before the story begins. */
const INITIAL_DEPLOYMENT_ID = "before";

export interface ScenarioResult {
  /** Whether it died as often as it was to. */
  readonly died: boolean;
  /** What does not hold; empty when everything does. */
  readonly violations: readonly string[];
}

/** Plays a scenario through, with an agent that dies at the given moments. */
export async function runScenario(
  scenario: Scenario,
  moments: readonly number[],
  death: CrashKind,
  seed: number,
): Promise<ScenarioResult> {
  const reaper = new CrashInjector(...moments);
  const written = new Map<string, EventContent[]>();
  await using rig = new AgentRig({ pullBy: scenario.pullBy ?? "agent" }, (store) =>
    withCrashPoints(store, reaper, (id, event) => written.set(id, [...(written.get(id) ?? []), event])),
  );
  scenario.setUp(rig);
  reaper.isDisabled = true;
  await install(scenario, rig);
  reaper.isDisabled = false;
  const beganAt = rig.clock.monotonic();
  const control = new ModelControlPlane(rig.clock, new SeededRandom(seed));
  for (const [index, asked] of scenario.requests.entries()) control.request(`d${index}`, asked);
  const found = new Set<string>();
  let engineAnswers = true;
  rig.engine.faults.onCall(({ phase }) => {
    reaper.checkpoint();
    if (!engineAnswers && phase === "before") throw new EngineError("unavailable", "connect ENOENT");
  });

  let deaths = 0;
  let keeper = startKeeper(rig);
  const happenings = [...(scenario.interventions ?? [])];
  ignoreStoreErrors(() => control.connect(rig.deployments, rig.store));
  let quietSince: number | undefined;
  for (;;) {
    const now = rig.clock.monotonic() - beganAt;
    if (now > MAX_SCENARIO_MS) break;
    if (reaper.hasCrashed) {
      deaths++;
      quietSince = undefined;
      await keeper.stop();
      if (death === "power cut") rig.engine.reboot();
      if (death === "engine killed too") for (const container of rig.engine.containers) container.stop();
      reaper.reset();
      try {
        await rig.restart();
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
      keeper = startKeeper(rig);
      ignoreStoreErrors(() => control.connect(rig.deployments, rig.store));
      continue;
    }
    while (happenings[0] && happenings[0].atMs <= now) {
      const happening = happenings.shift();
      if (happening?.kind === "engine") engineAnswers = happening.answers;
      if (happening?.kind === "cancel") ignoreStoreErrors(() => control.cancel(rig.deployments, "d0"));
    }
    if (now >= (scenario.silentMs ?? 0)) ignoreStoreErrors(() => control.exchange(rig.deployments, rig.store));
    const isQuiet = control.isDone && rig.store.deployments().length === 0 && !reaper.hasCrashed;
    quietSince = isQuiet ? (quietSince ?? now) : undefined;
    if (quietSince !== undefined && now - quietSince >= SETTLE_MS) break;
    await rig.clock.advance(isQuiet ? 5_000 : TICK_MS);
    for (const app of runningTwice(rig)) found.add(`two containers of ${app} ran at once`);
  }
  await keeper.stop();
  for (const violation of violations(scenario, rig, control, written)) found.add(violation);
  return { died: deaths === moments.length, violations: [...found] };
}

/** Brings the device to where the story begins. */
async function install({ installed, isStopped }: Scenario, rig: AgentRig): Promise<void> {
  if (!installed) return;
  rig.deployments.deploy(INITIAL_DEPLOYMENT_ID, installed);
  const { device_seq } = (await rig.untilEnd(INITIAL_DEPLOYMENT_ID)) ?? { device_seq: 0 };
  rig.store.acknowledge(INITIAL_DEPLOYMENT_ID, device_seq);
  if (!isStopped) return;
  rig.deployments.change("stopped before", { action: "stop", app: installed.name });
  const stopped = await rig.untilEnd("stopped before");
  rig.store.acknowledge("stopped before", stopped?.device_seq ?? 0);
}

/** Apps of which more than one container runs. */
function runningTwice({ engine }: AgentRig): string[] {
  const running = engine.containers.filter(({ status }) => status === "running");
  const apps = running.map(({ request }) => request.labels[LABELS.app] ?? "");
  return apps.filter((app, index) => apps.indexOf(app) !== index);
}

/** Does what may fail because the agent died over it. The link reports such an error and lives on. */
function ignoreStoreErrors(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

function startKeeper(rig: AgentRig): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const rebuild = { isSet: false, clear: () => {} };
  const { deployments } = rig;
  const keeper = new AppReconciler({ ...rig.services, rebuild, lease: (app) => deployments.lease(app) });
  const running = keeper.run(stopped.signal);
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
    const { status } = control.deployment(id);
    const stream = control.streams.get(id) ?? [];
    expectThat(status === end, `${id} is ${status}, not ${end}: ${JSON.stringify(stream)}`);
    expectThat(
      stream.filter(isFinal).length === 1 && isFinal(stream.at(-1) ?? { status }),
      `${id}: not one final event`,
    );
    expectThat(
      isReported(stream, written.get(id) ?? []),
      `${id}: stored ${JSON.stringify(written.get(id))}, told ${JSON.stringify(stream)}`,
    );
  }
  const apps = rig.store.apps().map(({ name, deploymentId, desired }) => `${name} of ${deploymentId}, ${desired}`);
  const wanted = scenario.remainingApps.map(
    ({ app, by, stopped }) => `${app} of ${deploymentOf(by)}, ${stopped ? "stopped" : "running"}`,
  );
  expectThat(JSON.stringify(apps) === JSON.stringify(wanted), `the store has the apps ${apps.join("; ")}`);
  const containers = rig.engine.containers;
  expectThat(
    containers.length === scenario.remainingApps.length,
    `${containers.map(({ name, status }) => `${name} ${status}`).join()} is on the engine`,
  );
  for (const remaining of scenario.remainingApps) {
    const own = containers.filter(({ request }) => request.labels[LABELS.app] === remaining.app);
    expectThat(own.length === 1 && matchesRequest(own[0], remaining, scenario), `${remaining.app} is not as asked for`);
  }
  const { received } = rig.downloader;
  expectThat(received <= bytesPublished(rig), `${received} bytes were downloaded of ${bytesPublished(rig)}`);
  expectThat(rig.store.deployments().length === 0, "the store holds deployments that are over");
  return found;
}

/** What all images of the registry cost: no death is a reason to pay for any of it twice. */
function bytesPublished({ engine }: AgentRig): number {
  const images = engine.publishedAll().flatMap(([, image]) => (image instanceof EngineError ? [] : [image]));
  return images.flatMap(layersOf).reduce((sum, size) => sum + size, 0);
}

/** Whether each event that was stored was told, once and in order. Progress, and a success that was undone, need not be. */
function isReported(stream: readonly EventContent[], stored: readonly EventContent[]): boolean {
  const isUndone = stored.some(({ status }) => status === "Fail");
  const lasting = stored.filter(
    ({ status, progress }) => progress === undefined && !(isUndone && status === "Success"),
  );
  let from = 0;
  return lasting.every(({ status, message }) => {
    const at = stream.findIndex((told, index) => index >= from && told.message === message && told.status === status);
    from = at + 1;
    return at >= 0;
  });
}

function deploymentOf(by: number | undefined): string {
  return by === undefined ? INITIAL_DEPLOYMENT_ID : `d${by}`;
}

function matchesRequest(
  container: FakeContainer | undefined,
  { app, by, stopped }: RemainingApp,
  scenario: Scenario,
): boolean {
  const { installed, requests } = scenario;
  const request = by === undefined ? undefined : requests[by];
  const spec = {
    ...(request?.action === "deploy" ? undefined : installed),
    ...(request?.spec as AppRequest | undefined),
  };
  if (!container) return false;
  const { environment, ports, labels } = container.request;
  const wantedPorts = spec.ports?.map((port) => ({ hostPort: port.host_port, targetPort: port.target_port }));
  return (
    (container.status === "running") === !stopped &&
    container.name === app &&
    labels[LABELS.deployment] === deploymentOf(by) &&
    JSON.stringify(environment) === JSON.stringify(["SECRET=value"]) &&
    JSON.stringify(ports) === JSON.stringify(wantedPorts)
  );
}
