import type { ContainerStatus, HealthcheckTimes, RunEnd } from "../../../src/agent/core/app/container-status.ts";
import { type HostPort, includesPort } from "../../../src/agent/core/host/host-port.ts";
import type {
  ContainerRequest,
  ContainerState,
  ContainerSummary,
  ContainerUsage,
  LogLine,
  LogRequest,
} from "../../../src/agent/engine/engine.ts";
import { nanoseconds } from "../../../src/agent/core/logs/time.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { FakeBehaviour } from "./fake-image.ts";

// Docker's restart delay starts at 100 ms, doubles with each restart up to a minute, and is reset by a run of ten
// seconds.
const MIN_RESTART_DELAY_MS = 100;
const MAX_RESTART_DELAY_MS = 60_000;
const BACKOFF_RESET_MS = 10_000;
/** Exit code of an app that was killed: 128 + SIGKILL. */
const KILLED = 137;

/** A container of the fake engine. Its state follows the engine's clock. */
export class FakeContainer {
  readonly id: string;
  readonly request: ContainerRequest;
  /** Id of its image; set by the engine. */
  imageId = "";
  /** Name of the creation request, until renamed. */
  name: string;
  /** Why the engine cannot remove it; `undefined` if it can. */
  unremovable: string | undefined;
  /** The networks it is on, by name. */
  readonly networks = new Map<string, { readonly id: number | undefined; readonly aliases: readonly string[] }>();
  readonly #clock: Clock;
  readonly #behaviour: FakeBehaviour;
  #status: ContainerStatus = "created";
  #restartCount = 0;
  #exitCode = 0;
  #oomKilled = false;
  #lastExit: RunEnd | undefined;
  #startedAt = "0001-01-01T00:00:00Z";
  #finishedAt = "0001-01-01T00:00:00Z";
  #startedMonotonic = 0;
  #restartMs = MIN_RESTART_DELAY_MS;
  #health: ContainerState["health"];
  readonly #log: LogLine[] = [];
  #timers: Disposable[] = [];

  constructor(id: string, request: ContainerRequest, behaviour: FakeBehaviour, clock: Clock) {
    this.id = id;
    this.request = request;
    this.name = request.name;
    this.#behaviour = behaviour;
    this.#clock = clock;
    this.#health = behaviour.health ? "starting" : "none";
  }

  get status(): ContainerStatus {
    return this.#status;
  }

  get logs(): readonly string[] {
    return this.#log.map(({ text }) => text);
  }

  get log(): readonly LogLine[] {
    return this.#log;
  }

  /** The app writes lines. */
  write(...texts: string[]): void {
    const timestamp = this.#clock.now();
    for (const text of texts) {
      // Lines written at one time have equal timestamps, as with a coarse clock.
      this.#log.push({ stream: "stdout", time: new Date(timestamp).toISOString(), text, truncated: false });
    }
  }

  /** Its volumes and files, as an engine lists them. */
  get mounts(): ContainerRequest["volumes"] {
    const { volumes, files = [] } = this.request;
    return [...volumes, ...files.map(({ source, target }) => ({ local: source, target, readonly: true }))];
  }

  /** Host ports it publishes while running. */
  get ports(): readonly HostPort[] {
    if (this.request.hostNetwork) return [];
    const ports = this.request.ports.map(({ hostPort, protocol = "tcp" }) => ({ port: hostPort, protocol }));
    return ports.filter((port, index) => !includesPort(ports.slice(0, index), port));
  }

  /** Host ports in use: those published, and those its app listens on in the host's network. */
  get heldPorts(): readonly HostPort[] {
    if (!["running", "paused", "restarting"].includes(this.#status)) return [];
    if (!this.request.hostNetwork) return this.ports;
    return (this.#behaviour.hostNetworkPorts ?? []).map((port) => ({ port, protocol: "tcp" }));
  }

  /** Begins a run on request: restarts and their pauses count anew, as with Docker. */
  startAnew(): void {
    this.#restartCount = 0;
    this.#restartMs = MIN_RESTART_DELAY_MS;
    this.start();
  }

  /** Begins a run. */
  start(): void {
    this.stop();
    this.#status = "running";
    // Engines report 0 while a container runs, whatever the run before ended with.
    this.#exitCode = 0;
    this.#startedMonotonic = this.#clock.monotonic();
    this.#startedAt = new Date(this.#clock.now()).toISOString();
    this.write(...(this.#behaviour.logs ?? []));
    const { exit, health } = this.#behaviour;
    if (exit) this.#after(exit.afterMs, () => this.exit(exit.code, exit.oomKilled));
    this.#health = health ? "starting" : "none";
    if (health?.afterMs !== undefined) this.#after(health.afterMs, () => (this.#health = health.becomes));
  }

  /** Pauses the container. */
  pause(): void {
    this.#status = "paused";
  }

  /** Throws if it is in a state in which engines do not start it. */
  requireStartable(): void {
    if (!["paused", "dead", "removing"].includes(this.#status)) return;
    throw new EngineError("conflict", `cannot start a container that is ${this.#status}`);
  }

  /** Ends it. Throws if the engine cannot remove it. */
  endForRemoval(): void {
    this.stop();
    if (this.unremovable === undefined) return;
    this.leave("dead");
    throw new EngineError("not_removable", this.unremovable);
  }

  /** Leaves it in a state in which a failed removal leaves containers. */
  leave(status: "dead" | "removing"): void {
    this.stop();
    this.#status = status;
  }

  /** Lets a paused container run on. */
  unpause(): void {
    this.#status = "running";
  }

  /** Ends the app as if by itself: the restart policy applies. */
  exit(code: number, oomKilled: boolean = false): void {
    this.stop();
    this.#exitCode = code;
    this.#oomKilled = oomKilled;
    this.#lastExit = { exitCode: code, oomKilled };
    if (this.#clock.monotonic() - this.#startedMonotonic >= BACKOFF_RESET_MS) this.#restartMs = MIN_RESTART_DELAY_MS;
    if (!this.#isRestarted(code)) return;
    this.#status = "restarting";
    // As Docker does: counted before the next run starts.
    this.#restartCount++;
    this.#after(this.#restartMs, () => this.start());
    this.#restartMs = Math.min(this.#restartMs * 2, MAX_RESTART_DELAY_MS);
  }

  #isRestarted(code: number): boolean {
    const { restartPolicy, options } = this.request;
    if (restartPolicy !== "on-failure") return restartPolicy !== "no";
    return code !== 0 && this.#restartCount < (options?.max_restarts ?? Number.POSITIVE_INFINITY);
  }

  /** Ends the run and cancels its timers. */
  stop(): void {
    for (const timer of this.#timers.splice(0)) timer[Symbol.dispose]();
    if (this.#status === "running") {
      this.#finishedAt = new Date(this.#clock.now()).toISOString();
      this.#exitCode = KILLED;
      this.#lastExit = { exitCode: KILLED, oomKilled: false };
    }
    if (!["created", "dead", "removing"].includes(this.#status)) this.#status = "exited";
  }

  /** How long it takes to stop, in milliseconds. */
  endsWithin(graceMs: number): number {
    if (!["running", "paused"].includes(this.#status)) return 0;
    return Math.min(graceMs, this.#behaviour.endsAfterMs ?? 0);
  }

  get summary(): ContainerSummary {
    const { id, name, request, status } = this;
    const hostPorts = request.hostNetwork ? [] : this.heldPorts;
    return {
      id,
      name,
      image: request.image,
      imageId: this.imageId,
      status,
      labels: request.labels,
      hostPorts,
      networks: this.joinable,
    };
  }

  /** Names of the networks it is on; `undefined` if it can join none. */
  get joinable(): readonly string[] | undefined {
    const { hostNetwork, network } = this.request;
    const isShared = typeof network === "object" && "container" in network;
    return hostNetwork || network === "none" || isShared ? undefined : [...this.networks.keys()];
  }

  /** How its last run that is over ended, also while the next one is running. */
  get lastExit(): RunEnd | undefined {
    return this.#lastExit;
  }

  get usage(): ContainerUsage | undefined {
    if (this.#status !== "running") return undefined;
    const isOnHost = this.request.hostNetwork;
    return {
      // A tenth of a processor.
      cpuNs: this.#clock.monotonic() * 100_000,
      memoryBytes: 12_000_000,
      memoryLimitBytes: 1_000_000_000,
      receivedBytes: isOnHost ? undefined : 2_000,
      sentBytes: isOnHost ? undefined : 1_000,
      readBytes: 4_000,
      writtenBytes: 3_000,
      processes: 2,
    };
  }

  /** Bytes of what it changed in its own file system. */
  get writableBytes(): number {
    return 5_000;
  }

  get state(): ContainerState {
    return {
      id: this.id,
      name: this.name,
      status: this.#status,
      labels: this.request.labels,
      restartCount: this.#restartCount,
      maxRestarts: this.request.options?.max_restarts,
      exitCode: this.#exitCode,
      oomKilled: this.#oomKilled,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      health: this.#health,
      healthOutput: this.#healthOutput ?? "",
      healthcheck: this.#healthcheck,
    };
  }

  get #healthOutput(): string | undefined {
    const { health } = this.#behaviour;
    if (this.#health === "none") return undefined;
    return this.#health === "starting" ? health?.failing : health?.output;
  }

  get #healthcheck(): HealthcheckTimes | undefined {
    const requested = this.request.healthcheck;
    if (!requested) return this.#behaviour.health?.times;
    return {
      startPeriodMs: requested.startPeriodS * 1000,
      intervalMs: requested.intervalS * 1000,
      timeoutMs: requested.timeoutS * 1000,
      retries: requested.retries,
    };
  }

  #after(ms: number, callback: () => void): void {
    this.#timers.push(this.#clock.timer(ms, callback));
  }
}

/** Whether a line's time is in the requested range. */
export function isWithin({ time }: LogLine, { since = 0n, until }: Pick<LogRequest, "since" | "until">): boolean {
  const at = nanoseconds(time) ?? 0n;
  return at >= since && (until === undefined || at < until);
}
