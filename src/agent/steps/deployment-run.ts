import { type EventContent, isFinal } from "../../protocol/deployments/deployment-event.ts";
import { withoutTimings } from "../../protocol/deployments/deployment-timings.ts";
import { fullJitter } from "../../lib/backoff.ts";
import { unixNow } from "../../lib/clock.ts";
import { errorEntry, isErrorCode } from "../../protocol/errors/errors.ts";
import { type GroupPhase, isPermitted } from "../core/apply/next-group-actions.ts";
import type { ImageSource } from "../core/image/image.ts";
import { stepEvents, runningEvent } from "../core/deployment/step-events.ts";
import type { ConcurrentDeployment } from "../core/deployment/check.ts";
import { secretsOfRecord, withoutAppOutput } from "../core/app/secrets.ts";
import { type DeploymentRecord, type Failure, withoutSpentCredentials, withCurrentContainer } from "../core/records.ts";
import { nextStep } from "../core/deployment/plan.ts";
import type { Observed, RunProgress, Step } from "../core/deployment/step.ts";
import { beginsTouching } from "../core/deployment/rollback.ts";
import type { EngineError } from "../engine/engine-error.ts";
import { type StoreChange, StoreError } from "../store/store.ts";
import type { DeployServices, StepContext, StepResult } from "./context.ts";
import { leaveBehind } from "./leftovers.ts";
import { mayHaveContainer, NO_CONTAINERS, observe } from "./observe.ts";
import { type DeviceStep, execute, isRecordStep, type RecordChange, toRecordChange } from "./table.ts";
import { isEngineDown, maskError, stepName, toFailure } from "./step-failure.ts";
import { type Lap, rounded, StepTimes } from "./step-times.ts";

const RETRY = { baseMs: 500, maxMs: 15_000 };
/** A step that takes longer is announced in a write of its own, in milliseconds. */
const ANNOUNCE_DELAY_MS = 1_000;
const NONE: ReadonlySet<string> = new Set();
const NO_PROGRESS: RunProgress = {
  startedContainerId: undefined,
  verifiedContainerId: undefined,
  stoppedContainerId: undefined,
  source: undefined,
  pullAttempts: 0,
};

export interface RunOptions {
  readonly services: DeployServices;
  readonly record: DeploymentRecord;
  /** Deployments accepted earlier that are still going on. */
  readonly concurrentDeployments: () => readonly ConcurrentDeployment[];
  /** Kind of the step that was announced when the record was stored, if any. */
  readonly announced?: Step["kind"];
  /** Whether the agent was restarted since the deployment was accepted. */
  readonly isResumed: boolean;
  /** Installed apps that are removed or changed by the same group: their ports count as free. */
  readonly replacedApps?: ReadonlySet<string>;
  /** Called with each step before it is taken. */
  readonly onStep?: (step: Step) => void;
  /** Called with each event while a step runs: whether the deployment only waits, as for the data budget. */
  readonly onWaiting?: (isWaiting: boolean) => void;
}

/**
 * Runs one deployment to its end in a loop: observe, plan, store, execute. The result of a step is stored before the
 * next one begins, in one write with the next one's announcement. A crash in between repeats a step; every step allows
 * that.
 */
export class DeploymentRun {
  readonly #options: RunOptions;
  readonly #stopped = new AbortController();
  #record: DeploymentRecord;
  #progress: RunProgress = NO_PROGRESS;
  #events: readonly EventContent[] = [];
  /** The containers after the last step. Used for the next plan only. */
  #observed: Observed | undefined;
  #announced: Step["kind"] | undefined;
  #step = new AbortController();
  #engineDownSince: number | undefined;
  #attempt = 0;
  /** The record on disk. */
  #savedRecord: DeploymentRecord;
  #announceTimer: Disposable | undefined;
  #lastStep: Step | undefined;
  /** The last step, and the state after it. */
  #lastStepState: string | undefined;
  #phase: GroupPhase = "run";
  #isParked = false;
  readonly #times: StepTimes;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#times = new StepTimes({ ...options.services, isResumed: options.isResumed });
    this.#record = options.record;
    this.#savedRecord = options.record;
    this.#announced = options.announced;
  }

  get record(): DeploymentRecord {
    return this.#record;
  }

  /** Fails the deployment and aborts the current step. The failure is on disk on return. A second one is ignored. */
  fail(failure: Failure): void {
    if (this.#record.failure || this.#record.outcome !== "pending") return;
    const record = withoutSpentCredentials({ ...this.#record, failure });
    this.#options.services.store.save({ deployment: record });
    this.#record = record;
    this.#savedRecord = record;
    this.#step.abort(failure);
  }

  /** Where the image comes from, if it is resolved and not on the device yet. */
  get source(): ImageSource | undefined {
    return this.#record.imageId === undefined ? this.#progress.source : undefined;
  }

  /** Lets a deployment that is part of a group go as far as the phase permits. Must be called before `run`. */
  permit(phase: GroupPhase): void {
    this.#phase = phase;
    this.#isParked = false;
    this.#lastStepState = undefined;
  }

  /** Stops the run; the deployment is resumed at the next start. */
  stop(): void {
    this.#stopped.abort(new DOMException("the agent is stopping", "AbortError"));
    this.#announceTimer?.[Symbol.dispose]();
    this.#step.abort(this.#stopped.signal.reason);
  }

  /** Resolves when the deployment has ended, has parked, or was stopped. Never rejects. */
  async run(): Promise<void> {
    while (!this.#stopped.signal.aborted && this.#record.outcome === "pending" && !this.#isParked) {
      this.#step = new AbortController();
      try {
        await this.#runNextStep();
        if (this.#isParked) return;
        if (this.#detectRepetition()) await this.#backOff();
        else this.#attempt = 0;
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  /**
   * Whether the last round repeated the step before without any change of state, as with an engine that reports success
   * and does nothing. Then a pause has to follow.
   */
  #detectRepetition(): boolean {
    const before = this.#lastStepState;
    this.#lastStepState = JSON.stringify([this.#lastStep, this.#record, this.#progress]);
    if (this.#lastStepState !== before) return false;
    this.#observed = undefined;
    return true;
  }

  /** Waits longer each time, until a step succeeds. Rejects when the step is aborted. */
  #backOff(): Promise<void> {
    const { clock, random } = this.#options.services;
    return clock.sleep(fullJitter(this.#attempt++, RETRY, random()), this.#step.signal);
  }

  async #runNextStep(): Promise<void> {
    const { engine, store, config } = this.#options.services;
    const lap = this.#times.begin();
    const { signal } = this.#step;
    const observed =
      this.#observed ?? (await this.#tolerate(lap.run(() => observe(this.#record, engine, config.stateDir, signal))));
    this.#observed = undefined;
    const installed = store.apps().find(({ name }) => name === this.#record.app);
    this.#record = withCurrentContainer(this.#record, installed);
    const step = nextStep(this.#record, observed, this.#progress, installed);
    this.#lastStep = step;
    if (!step) return;
    if (!isPermitted(step, this.#phase, this.#record)) return this.#park();
    this.#options.onStep?.(step);
    this.#options.onWaiting?.(false);
    if (isRecordStep(step))
      return this.#applyRecordStep(
        toRecordChange(step, this.#record, unixNow(this.#options.services.clock)),
        this.#withTimings(stepEvents(step, this.#record)),
      );
    const isRollback = this.#record.failure !== undefined;
    this.#announce(step);
    try {
      this.#applyResult(
        await this.#time(lap, step, isRollback, () => execute(this.#context(observed), step)),
        observed,
      );
    } catch (error) {
      if (this.#step.signal.aborted || error instanceof StoreError) throw error;
      if (step.kind === "clean" && this.#isDone)
        this.#applyResult(leaveBehind(step, { record: this.#record, observed, error }), undefined);
      else if (isEngineDown(error) || step.kind === "clean") throw error;
      else this.#failStep(step.kind, error);
    }
    this.#engineDownSince = undefined;
  }

  /** Whether the deployment has done what it was asked for: nothing may undo it, except that it is cancelled. */
  get #isDone(): boolean {
    return this.#record.committed && this.#record.failure === undefined;
  }

  /** Returns the observation. What is still to be cleaned up does not matter to a deployment that is done. */
  async #tolerate(observation: Promise<Observed>): Promise<Observed> {
    try {
      return await observation;
    } catch (error) {
      if (this.#step.signal.aborted || !this.#isDone || !isEngineDown(error)) throw error;
      return NO_CONTAINERS;
    }
  }

  async #time<T>(lap: Lap, { kind }: Step, isRollback: boolean, work: () => Promise<T>): Promise<T> {
    try {
      return await lap.run(work);
    } finally {
      const { ms, engineMs } = lap.end(isRollback ? "rolling_back" : stepName(kind));
      this.#log().debug({ step: kind, ms: rounded(ms), engine_ms: rounded(engineMs) }, "a deployment step is over");
    }
  }

  /** Adds the times of the steps to the final event. */
  #withTimings(events: readonly EventContent[]): EventContent[] {
    const timings = this.#times.report();
    return events.map((event) => {
      return timings && isFinal(event) ? { ...event, details: { ...event.details, timings } } : event;
    });
  }

  /** Stores what is not stored yet, such as the pulled image, and waits for the next phase. */
  #park(): void {
    if (this.#record !== this.#savedRecord || this.#events.length > 0) this.#save(this.#record, []);
    this.#isParked = true;
  }

  #applyRecordStep({ record, ...more }: RecordChange, events: readonly EventContent[]): void {
    this.#save({ ...this.#record, ...record }, events, more);
  }

  #announce(step: DeviceStep): void {
    const isNew = step.kind !== this.#announced;
    const resumed = this.#options.isResumed && this.#announced === undefined && step.kind !== "clean";
    const isTouching = beginsTouching(this.#record, step);
    const record = isTouching ? { ...this.#record, touched: true } : this.#record;
    const events = [
      ...(resumed ? [runningEvent(stepName(step.kind), "The agent was restarted; the deployment goes on.")] : []),
      ...(isNew ? stepEvents(step, record) : []),
    ];
    this.#announced = step.kind;
    // Nothing to store: saves a write.
    if (events.length === 0 && this.#events.length === 0 && record === this.#savedRecord) return;
    const isShort = step.kind === "verify" && this.#options.services.config.settleMs < ANNOUNCE_DELAY_MS;
    if ((step.kind === "start" || isShort) && record === this.#savedRecord) this.#announceLater(events);
    else this.#save(record, events);
  }

  /** A start is short, as a verification may be. They change no stored state: the write that follows announces them. */
  #announceLater(events: readonly EventContent[]): void {
    this.#events = [...this.#events, ...events];
    this.#announceTimer ??= this.#options.services.clock.timer(ANNOUNCE_DELAY_MS, () => {
      this.#announceTimer = undefined;
      try {
        this.#save(this.#record, []);
      } catch (error) {
        this.#log().warn(
          { err: maskError(error, secretsOfRecord(this.#record)) },
          "the start of a deployment step could not be stored; it is tried again. See: edge-agent doctor (disk, store)",
        );
      }
    });
  }

  #applyResult(result: StepResult, observed: Observed | undefined): void {
    const { failure } = result;
    if (result.record) this.#record = { ...this.#record, ...result.record };
    if (failure) this.#record = { ...this.#record, ...this.#failureFields(failure) };
    this.#progress = { ...this.#progress, ...result.progress };
    this.#events = [...this.#events, ...(result.events ?? [])];
    this.#observed = failure || !result.observed || !observed ? undefined : { ...observed, ...result.observed };
  }

  /**
   * A failure during the rollback does not replace the one that caused the rollback. Without a change there is nothing to
   * bring back: it is that of a step which was under way.
   */
  #failureFields(failure: Failure): Partial<DeploymentRecord> {
    const { failure: first, touched } = this.#record;
    if (!first) return { failure };
    return touched ? { rollbackFailure: failure } : {};
  }

  #failStep(kind: Step["kind"], error: unknown): void {
    const failure = toFailure(error, stepName(kind), this.#record);
    if (failure.code === "Internal")
      this.#log().error(
        { err: maskError(error, secretsOfRecord(this.#record)), step: kind },
        "a deployment step failed unexpectedly; the deployment is rolled back. Please report it: edge-agent support-bundle FILE",
      );
    this.#applyResult({ failure }, undefined);
  }

  /**
   * Handles an unexpected error: fails the deployment or not, then waits before the next try. There is no pause after a
   * new failure that needs no rollback. Never rejects.
   */
  async #recover(error: unknown): Promise<void> {
    if (this.#step.signal.aborted) return;
    const hadFailed = this.#record.failure !== undefined;
    if (isEngineDown(error)) this.#onEngineDown(error);
    else {
      this.#log().error(
        { err: maskError(error, secretsOfRecord(this.#record)) },
        "a deployment step failed; it is tried again until the deployment times out. See: edge-agent doctor (engine, disk)",
      );
    }
    if (!hadFailed && this.#record.failure && !mayHaveContainer(this.#record)) return;
    try {
      await this.#backOff();
    } catch {
      // Aborted: the loop checks that.
    }
  }

  #onEngineDown(error: EngineError): void {
    const { clock, config } = this.#options.services;
    this.#engineDownSince ??= clock.monotonic();
    // The container may have stopped with the engine: it is started and verified again, as after a restart.
    this.#progress = NO_PROGRESS;
    const isHopeless = clock.monotonic() - this.#engineDownSince >= config.enginePatienceMs;
    // An engine that is there and does not answer may be busy with other deployments.
    const isAbsent = error.kind === "unavailable" && !this.#record.checked && !this.#record.touched;
    if (!this.#record.failure && (isHopeless || isAbsent)) this.#failStep(this.#announced ?? "check", error);
    if (this.#attempt > 0 || (this.#record.failure && !mayHaveContainer(this.#record))) return;
    try {
      this.#emitMessage(`The container engine does not answer; waiting for it. ${error.message}`);
    } catch (problem) {
      this.#log().warn(
        { err: problem, reason: error.message },
        "the container engine does not answer, and the event for it could not be stored; the deployment waits. See: edge-agent doctor (engine, disk)",
      );
    }
  }

  #emitMessage(message: string): void {
    this.#save(this.#record, [runningEvent(stepName(this.#announced ?? "check"), message)]);
  }

  #save(changed: DeploymentRecord, events: readonly EventContent[], more: Partial<StoreChange> = {}): void {
    this.#announceTimer?.[Symbol.dispose]();
    this.#announceTimer = undefined;
    const all = [...this.#events, ...events];
    const record = withoutSpentCredentials(changed);
    this.#options.services.store.save({ deployment: record, events: all, ...more });
    this.#record = record;
    this.#savedRecord = record;
    this.#events = [];
    for (const event of all) this.#logEvent(event);
  }

  #emit(event: EventContent): void {
    this.#options.onWaiting?.(event.details?.["waiting_for"] !== undefined);
    try {
      this.#save(this.#record, [event]);
    } catch (error) {
      // A progress event that cannot be stored is dropped: it must not restart the pull.
      if (!(error instanceof StoreError) || event.progress === undefined) throw error;
    }
  }

  #logEvent(event: EventContent): void {
    const { status, step, message, code, progress } = event;
    const own = withoutAppOutput(withoutTimings(event.details ?? {}));
    const level = status === "Fail" ? "warn" : progress === undefined ? "info" : "debug";
    // The log must be understood without the table of error codes.
    const advice = isErrorCode(code) ? ` What to do: ${errorEntry(code).hint}` : "";
    const text = advice === "" || /[.!?]$/.test(message) ? message : `${message}.`;
    this.#log()[level]({ status, step, ...(code && { code }), ...(isFinal(event) && own) }, text + advice);
  }

  #log() {
    return this.#options.services.logger.child({ deployment: this.#record.id, app: this.#record.app });
  }

  #context(observed: Observed): StepContext {
    return {
      ...this.#options.services,
      record: this.#record,
      deploymentId: this.#record.id,
      order: this.#record.order,
      observed,
      concurrentDeployments: this.#options.concurrentDeployments,
      replacedApps: this.#options.replacedApps ?? NONE,
      emit: (event) => this.#emit(event),
      signal: this.#step.signal,
    };
  }
}
