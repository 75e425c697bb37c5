import { type Clock, pause } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { LABELS } from "../core/app/container.ts";
import type { HostPort } from "../core/host/host-port.ts";
import type { RunEnd } from "../core/app/container-status.ts";
import { observeRestarts, type RestartTrace } from "../core/app/restart-pause.ts";
import type { ContainerState, ContainerSummary, Engine } from "./engine.ts";

export interface RestartPausesOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identifies the agent's own containers by label. */
  readonly stateDir: string;
}

/** What the engine itself does not know of a container that has paused. */
interface Before {
  /** The engine counts from 0 after the start. */
  readonly restarts: number;
  /** How the app ended by itself, and not by the stop that began the pause. */
  readonly end: RunEnd | undefined;
  readonly hostPorts: readonly HostPort[];
}

const RETRY_MS = 30_000;
/** For the end of a run that has just begun. */
const STOP_GRACE_MS = 2_000;
/** After a start: Podman may leave the app down that ends then, which no event tells. */
const LOOK_AGAIN_MS = 2_000;
/** Containers whose restarts are remembered: more than a device has apps. */
const MAX_TRACES = 500;

/**
 * An engine whose restarts have pauses. Docker makes them itself. Podman starts an app that ends at once again and again,
 * several times a second, which keeps a processor busy and wears flash out: while the agent runs, it stops such an app, and
 * starts it after the pause that Docker would make. Meanwhile its container is `restarting`, as with Docker.
 */
export class RestartPauses {
  readonly engine: Engine;
  readonly #options: RestartPausesOptions;
  readonly #traces = new Map<string, RestartTrace>();
  readonly #looking = new Set<string>();
  /** Containers that wait for their next run. */
  readonly #pauses = new Map<string, Before>();
  /** Containers that run again. */
  readonly #resumed = new Map<string, Before>();

  constructor(options: RestartPausesOptions) {
    this.#options = options;
    this.engine = this.#wrap(options.engine);
  }

  /** Makes pauses until `signal` aborts, then starts what is in one. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { engine, clock, stateDir } = this.#options;
    while (!signal.aborted) {
      try {
        if ((await engine.identify(signal)).kind === "podman")
          for await (const change of engine.watchContainers(`${LABELS.stateDir}=${stateDir}`, signal))
            if (change) await this.#look(change.id, signal);
      } catch {
        // The app reconciler logs when the engine stops answering, and when it answers again.
      }
      await pause(clock, RETRY_MS, signal);
    }
    const { signal: never } = new AbortController();
    // The app reconciler starts what this cannot, and says why.
    await Promise.all([...this.#pauses.keys()].map((id) => engine.startContainer(id, never).catch(() => undefined)));
  }

  async #look(id: string, signal: AbortSignal): Promise<void> {
    if (this.#pauses.has(id) || this.#looking.has(id)) return;
    this.#looking.add(id);
    await this.#lookOnce(id, signal).finally(() => this.#looking.delete(id));
  }

  async #lookOnce(id: string, signal: AbortSignal): Promise<void> {
    const { engine, clock, logger } = this.#options;
    const state = await engine.inspectContainer(id, signal);
    const last = this.#traces.get(id);
    if (!state) return;
    const { status, exitCode, restartCount, maxRestarts } = state;
    // Podman gives it up by itself, and would count anew after each pause.
    if (maxRestarts !== undefined) return;
    // Podman sometimes leaves an app down that ends while it still cleans up after the stop that began a pause.
    const isLeft = status === "exited" && exitCode !== 0 && last !== undefined && last.pauses > 0;
    if (status !== "running" && status !== "restarting" && !isLeft) return;
    const restarts = restartCount + Number(status !== "running");
    const { trace, pauseMs } = observeRestarts(last, restarts, clock.monotonic());
    this.#remember(id, trace);
    if (pauseMs === undefined) return;
    const [config, end] = await Promise.all([
      engine.readContainerConfig(id, signal),
      status === "running" ? this.engine.readLastExit(id, signal) : state,
    ]);
    // The agent has stopped, started or removed it meanwhile.
    if (this.#traces.get(id) !== trace) return;
    const before = {
      restarts: restarts + (this.#resumed.get(id)?.restarts ?? 0),
      end: end && { exitCode: end.exitCode, oomKilled: end.oomKilled },
      hostPorts: (config?.ports ?? []).map(({ hostPort: port, protocol = "tcp" }) => ({ port, protocol })),
    };
    this.#pauses.set(id, before);
    const app = state.labels[LABELS.app];
    logger.debug({ app, pause_s: Math.round(pauseMs / 1000) }, "an app keeps ending; its next start waits");
    void clock.sleep(pauseMs, signal).then(
      () => this.#resume(id, before, signal),
      () => undefined,
    );
    // It has ended by itself, or the engine makes its own pause.
    await engine.stopContainer(id, STOP_GRACE_MS, signal).catch(() => undefined);
  }

  /** Where it cannot be started, the app reconciler finds it stopped, and says why. */
  async #resume(id: string, before: Before, signal: AbortSignal): Promise<void> {
    if (this.#pauses.get(id) !== before) return;
    this.#resumed.set(id, before);
    const { engine, clock } = this.#options;
    await engine.startContainer(id, signal).catch(() => undefined);
    this.#pauses.delete(id);
    await pause(clock, LOOK_AGAIN_MS, signal);
    // The next change of the container is looked at again.
    if (!signal.aborted) await this.#look(id, signal).catch(() => undefined);
  }

  #remember(id: string, trace: RestartTrace): void {
    this.#traces.delete(id);
    this.#traces.set(id, trace);
    const [oldest] = this.#traces.keys();
    if (this.#traces.size > MAX_TRACES && oldest !== undefined) this.#forget(oldest);
  }

  /** What is done to a container by others than its engine ends its loop. */
  #forget(id: string): void {
    for (const known of [this.#pauses, this.#traces, this.#resumed]) known.delete(id);
  }

  #wrap(inner: Engine): Engine {
    const own: Partial<Engine> = {
      listContainers: async (signal) => {
        const listed = await inner.listContainers(signal);
        return listed.map((summary) => this.#seen(summary));
      },
      inspectContainer: async (idOrName, signal) => {
        const state = await inner.inspectContainer(idOrName, signal);
        return state && this.#counted(state);
      },
      readLastExit: async (id, signal) => {
        const pause = this.#pauses.get(id);
        if (pause) return pause.end;
        const resumed = this.#resumed.get(id);
        if (resumed && (await inner.inspectContainer(id, signal))?.restartCount === 0) return resumed.end;
        return await inner.readLastExit(id, signal);
      },
      startContainer: async (id, signal) => {
        this.#forget(id);
        await inner.startContainer(id, signal);
      },
      stopContainer: async (id, graceMs, signal) => {
        this.#forget(id);
        await inner.stopContainer(id, graceMs, signal);
      },
      removeContainer: async (id, signal) => {
        this.#forget(id);
        await inner.removeContainer(id, signal);
      },
    };
    return new Proxy(inner, {
      get: (target, key) => {
        if (Object.hasOwn(own, key)) return own[key as keyof Engine];
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  #seen(summary: ContainerSummary): ContainerSummary {
    const pause = this.#pauses.get(summary.id);
    return pause && isDown(summary) ? { ...summary, status: "restarting", hostPorts: pause.hostPorts } : summary;
  }

  #counted(state: ContainerState): ContainerState {
    const pause = this.#pauses.get(state.id);
    if (pause && isDown(state)) return { ...state, ...pause.end, status: "restarting", restartCount: pause.restarts };
    const earlier = this.#resumed.get(state.id)?.restarts ?? 0;
    return earlier === 0 ? state : { ...state, restartCount: state.restartCount + earlier };
  }
}

function isDown({ status }: Pick<ContainerState, "status">): boolean {
  return status === "exited" || status === "created";
}
