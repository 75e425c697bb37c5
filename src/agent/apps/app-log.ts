import type { Clock } from "../../lib/clock.ts";
import { SecretMasker } from "../../lib/redact.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { declaredSecretsOf } from "../core/app/secrets.ts";
import type { AppRecord } from "../core/records.ts";
import { LogCursor } from "../core/logs/cursor.ts";
import type { ContainerState, Engine, LogLine, LogRequest } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import { toReportedLine } from "../engine/mask-log-lines.ts";
import type { PreviousLogs } from "../store/previous-logs.ts";
import { findAppContainer } from "./find-app-container.ts";
import { readPreviousLog } from "./previous-log.ts";
import { StallWatch } from "./stall-watch.ts";

/** How often a container that is not running is inspected, in milliseconds. */
const POLL_INTERVAL_MS = 500;

/** How often a log that is not followed is looked for again when an update removes its container meanwhile. */
const MAX_REPLACEMENTS = 20;

/** Maximum number of lines searched for output that the app wrote between two reads, such as between two runs. */
const MAX_MISSED_LINES = 10_000;

/** Number of an app's versions whose secrets are masked while its log is followed over updates. */
const MAX_VERSIONS = 2;

export interface AppLogSource {
  readonly engine: Engine;
  readonly store: { apps(): readonly AppRecord[]; fileContent(id: string): Buffer | undefined };
  readonly clock: Clock;
  readonly previousLogs: Pick<PreviousLogs, "read">;
}

export interface AppLogRequest {
  /** Number of existing lines to start with. */
  readonly tail: number;
  /** Nanoseconds since the Unix epoch. Older lines are left out. */
  readonly since?: bigint | undefined;
  readonly follow: boolean;
  /** Reads what the app wrote before its present run. Not together with `follow`. */
  readonly previous?: boolean;
}

export interface AppLogBatch {
  /** Empty once all existing lines are read. The lines after that are new. */
  readonly lines: readonly LogLine[];
  /** Whether the lines were written after reading began. */
  readonly isLive: boolean;
}

/** Why a log ended: all lines were read, the app has no container, nothing is left of earlier runs, or the app was removed. */
export type AppLogEnd = "read" | "no_container" | "no_previous" | "removed";

/**
 * Reads an app's output, with declared secrets masked and control characters removed. With `follow`, continues across
 * restarts, repairs and updates of the app, without losing or repeating a line, until the app is removed or the signal
 * aborts. Closing the generator closes the engine's stream. Errors: `EdgeError` `AppNotFound`, `EngineUnavailable`.
 */
export async function* readAppLog(
  name: string,
  request: AppLogRequest,
  source: AppLogSource,
  signal: AbortSignal,
): AsyncGenerator<AppLogBatch, AppLogEnd> {
  const app = findApp(name, source);
  if (!app) throw new EdgeError("AppNotFound", `There is no app named ${name} on this device.`);
  try {
    if (request.previous === true) return yield* readPreviousLog(app, request, source, signal);
    return yield* new AppLogReader(name, request, source, signal).read();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof EngineError)) throw error;
    throw new EdgeError("EngineUnavailable", `The container engine cannot be asked: ${error.message}`, undefined, {
      cause: error,
    });
  }
}

class AppLogReader {
  readonly #name: string;
  readonly #request: AppLogRequest;
  readonly #source: AppLogSource;
  readonly #signal: AbortSignal;
  #cursor = new LogCursor({ tail: MAX_MISSED_LINES });
  /** The container read last, and the run of it. */
  #container: string | undefined;
  #run = "";
  #isLive = false;
  /** Whether the last read followed a run: what the engine did not bring of it is read once more when it has ended. */
  #isUnfinished = false;
  /** Whether the last stream was given up because nothing more came. */
  #hasStalled = false;
  /** The app's versions seen last, newest first. */
  #versions: readonly AppRecord[] = [];
  /** When reading began, in nanoseconds of the clock that the engine's timestamps use. */
  readonly #beganAt: bigint;

  constructor(name: string, request: AppLogRequest, source: AppLogSource, signal: AbortSignal) {
    this.#name = name;
    this.#request = request;
    this.#source = source;
    this.#signal = signal;
    this.#beganAt = BigInt(Math.floor(source.clock.timeOfDay())) * 1_000_000n;
  }

  async *read(): AsyncGenerator<AppLogBatch, AppLogEnd> {
    for (let replacements = 0; ;) {
      const app = findApp(this.#name, this.#source);
      if (!app) return "removed";
      const container = await findAppContainer(app, this.#source.engine, this.#signal);
      if (!container && !this.#request.follow) return "no_container";
      const isFollowed = this.#isLive && container?.id === this.#container && container?.startedAt === this.#run;
      const isWorthReading = container !== undefined && this.#isWorthReading(container);
      const isRead = !isWorthReading || (yield* this.#readContainer(container, this.#secretsOf(app)));
      if (!isRead && !this.#request.follow) {
        if (++replacements > MAX_REPLACEMENTS)
          throw new EngineError("not_found", "the app's container keeps being removed");
        await this.#source.clock.sleep(POLL_INTERVAL_MS, this.#signal);
        continue;
      }
      // Also after a followed run: an engine may end the stream at once and still report the container as running.
      if (!isWorthReading || isFollowed) await this.#source.clock.sleep(POLL_INTERVAL_MS, this.#signal);
      if (!this.#request.follow) return "read";
      if (!this.#isLive) yield { lines: [], isLive: true };
      this.#isLive = true;
    }
  }

  /** Returns the secrets to mask. After an update, the app may also print those of the version before. */
  #secretsOf(app: AppRecord): string[] {
    const others = this.#versions.filter(({ deploymentId }) => deploymentId !== app.deploymentId);
    this.#versions = [app, ...others].slice(0, MAX_VERSIONS);
    const { store } = this.#source;
    return this.#versions.flatMap(({ spec }) => declaredSecretsOf(spec, (id) => store.fileContent(id)?.toString()));
  }

  /**
   * A stopped container has new lines only if it ran since the last read, or if that read followed it: an engine that starts
   * another file under its reader may end the stream without the last lines, which say why an app has ended.
   */
  #isWorthReading({ id, status, startedAt }: ContainerState): boolean {
    return status === "running" || id !== this.#container || startedAt !== this.#run || this.#isUnfinished;
  }

  /** Returns false if the container was removed meanwhile, such as by an update. */
  async *#readContainer(container: ContainerState, secrets: readonly string[]): AsyncGenerator<AppLogBatch, boolean> {
    const request = this.#nextRequest(container);
    using watch = new StallWatch(this.#source.clock);
    const signal = request.follow ? AbortSignal.any([this.#signal, watch.signal]) : this.#signal;
    try {
      if (request.tail === 0) return true;
      const masker = new SecretMasker(secrets);
      const begun = new Set<LogLine["stream"]>();
      const batches = this.#source.engine.readLogs(container.id, request, signal);
      for await (const batch of batches) {
        const lines: LogLine[] = [];
        for (const line of batch) {
          if (this.#cursor.take(line)) lines.push(toReportedLine(line, masker, !begun.has(line.stream)));
          begun.add(line.stream);
        }
        watch.received(lines.length);
        if (lines.length > 0) yield { lines, isLive: this.#isLive };
        if (request.follow) watch.wait();
      }
      return true;
    } catch (error) {
      // It is opened again where it was.
      if (watch.signal.aborted && !this.#signal.aborted) {
        this.#hasStalled = true;
        return true;
      }
      if (error instanceof EngineError && error.kind === "not_found") return false;
      throw error;
    }
  }

  /** Returns the request for the next read of the container. */
  #nextRequest({ id, status, startedAt }: ContainerState): LogRequest {
    if (id !== this.#container) this.#cursor = this.#createCursor(this.#container === undefined);
    this.#cursor.resume();
    this.#container = id;
    this.#run = startedAt;
    this.#isUnfinished = this.#isLive && status === "running";
    // Existing lines are read to the end first. Everything after that is new.
    if (!this.#isLive) return { ...this.#request, follow: false };
    // The machine may only have been slow, with any number of lines still to come.
    const tail = this.#hasStalled ? Infinity : MAX_MISSED_LINES;
    this.#hasStalled = false;
    return { tail, since: this.#cursor.since, follow: status === "running" };
  }

  /** Applies `tail` and `since` to the first container only. Containers that replace it are read completely. */
  #createCursor(isFirst: boolean): LogCursor {
    if (!isFirst) return new LogCursor({ tail: MAX_MISSED_LINES });
    const { tail, since } = this.#request;
    return new LogCursor({ tail, since: tail === 0 ? this.#beganAt : since });
  }
}

function findApp(name: string, { store }: AppLogSource): AppRecord | undefined {
  return store.apps().find((app) => app.name === name);
}
