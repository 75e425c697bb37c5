import { type EventContent, isFinal } from "../../protocol/deployment-event.ts";
import { fullJitter } from "../../lib/backoff.ts";
import { errorEntry, isErrorCode } from "../../protocol/errors.ts";
import { stepEvents, runningEvent } from "../core/deployment/step-events.ts";
import type { ConcurrentDeployment } from "../core/deployment/check.ts";
import { secretsOfRecord } from "../core/app/container.ts";
import {
  type DeploymentRecord,
  type Failure,
  withoutSpentCredentials,
  withCurrentContainer,
} from "../core/deployment/record.ts";
import { nextStep } from "../core/deployment/plan.ts";
import type { Observed, RunProgress, Step } from "../core/deployment/step.ts";
import { beginsTouching } from "../core/deployment/rollback.ts";
import type { EngineError } from "../engine/engine-error.ts";
import { type StoreChange, StoreError } from "../store/store.ts";
import type { DeployServices, StepContext, StepResult } from "./context.ts";
import { mayHaveContainer, observe } from "./observe.ts";
import { type EffectStep, execute, isRecordStep, type RecordChange, toRecordChange } from "./table.ts";
import { isEngineDown, maskError, stepName, toFailure } from "./step-failure.ts";

const RETRY = { baseMs: 500, maxMs: 15_000 };
/** A step that has not ended by then is told of by itself, in milliseconds. */
const ANNOUNCE_DELAY_MS = 1_000;
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
  /** Kind of the step that was announced together with the record, if any. */
  readonly announced?: Step["kind"];
  /** The agent was restarted in the middle of it. */
  readonly isResumed: boolean;
}

/**
 * Brings one deployment to its end: observe, plan, store, do, and again. What a step came to is stored before the next
 * one begins, in one write with its announcement; a crash in between repeats a step, which every step allows.
 */
export class DeploymentRun {
  readonly #options: RunOptions;
  readonly #stopped = new AbortController();
  #record: DeploymentRecord;
  #progress: RunProgress = NO_PROGRESS;
  #events: readonly EventContent[] = [];
  /** What the last step saw of the containers. Serves the next decision only. */
  #observed: Observed | undefined;
  #announced: Step["kind"] | undefined;
  #step = new AbortController();
  #engineDownSince: number | undefined;
  #attempt = 0;
  /** The record as it is on disk. */
  #savedRecord: DeploymentRecord;
  #announceTimer: Disposable | undefined;
  #lastStep: Step | undefined;
  /** What the last round did, and what was known behind it. */
  #lastStepState: string | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#record = options.record;
    this.#savedRecord = options.record;
    this.#announced = options.announced;
  }

  get record(): DeploymentRecord {
    return this.#record;
  }

  /** Makes the deployment fail, whatever it is doing. On disk when this returns. The first failure stays. */
  fail(failure: Failure): void {
    if (this.#record.failure || this.#record.outcome !== "pending") return;
    const record = withoutSpentCredentials({ ...this.#record, failure });
    this.#options.services.store.save({ deployment: record });
    this.#record = record;
    this.#savedRecord = record;
    this.#step.abort(failure);
  }

  /** Leaves the deployment where it is, to be resumed later. */
  stop(): void {
    this.#stopped.abort(new DOMException("the agent is stopping", "AbortError"));
    this.#announceTimer?.[Symbol.dispose]();
    this.#step.abort(this.#stopped.signal.reason);
  }

  /** Resolves when the deployment has ended or was stopped. Never rejects. */
  async run(): Promise<void> {
    while (!this.#stopped.signal.aborted && this.#record.outcome === "pending") {
      this.#step = new AbortController();
      try {
        await this.#runNextStep();
        if (this.#detectRepetition()) await this.#backOff();
        else this.#attempt = 0;
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  /**
   * Whether the last round did what the one before had done, and nothing came of it, as with an engine that does not do
   * what it says. Between two tries there has to be a pause, or something new.
   */
  #detectRepetition(): boolean {
    const before = this.#lastStepState;
    this.#lastStepState = JSON.stringify([this.#lastStep, this.#record, this.#progress]);
    if (this.#lastStepState !== before) return false;
    this.#observed = undefined;
    return true;
  }

  /** Waits longer each time, until something works. Rejects when the step is aborted. */
  #backOff(): Promise<void> {
    const { clock, random } = this.#options.services;
    return clock.sleep(fullJitter(this.#attempt++, RETRY, random()), this.#step.signal);
  }

  async #runNextStep(): Promise<void> {
    const { engine, store, config } = this.#options.services;
    const observed = this.#observed ?? (await observe(this.#record, engine, config.stateDir, this.#step.signal));
    this.#observed = undefined;
    const installed = store.apps().find(({ name }) => name === this.#record.app);
    this.#record = withCurrentContainer(this.#record, installed);
    const step = nextStep(this.#record, observed, this.#progress, installed);
    this.#lastStep = step;
    if (!step) return;
    if (isRecordStep(step))
      return this.#applyRecordStep(toRecordChange(step, this.#record), stepEvents(step, this.#record));
    this.#announce(step);
    try {
      this.#applyResult(await execute(this.#context(observed), step), observed);
    } catch (error) {
      if (this.#step.signal.aborted || isEngineDown(error) || error instanceof StoreError || step.kind === "clean")
        throw error;
      this.#failStep(step.kind, error);
    }
    this.#engineDownSince = undefined;
  }

  #applyRecordStep({ record, ...more }: RecordChange, events: readonly EventContent[]): void {
    this.#save({ ...this.#record, ...record }, events, more);
  }

  #announce(step: EffectStep): void {
    const isNew = step.kind !== this.#announced;
    const resumed = this.#options.isResumed && this.#announced === undefined && step.kind !== "clean";
    const isTouching = beginsTouching(this.#record, step);
    const record = isTouching ? { ...this.#record, touched: true } : this.#record;
    const events = [
      ...(resumed ? [runningEvent(stepName(step.kind), "The agent was restarted; the deployment goes on.")] : []),
      ...(isNew ? stepEvents(step, record) : []),
    ];
    this.#announced = step.kind;
    // Nothing to say and nothing new to remember: spare the write.
    if (events.length === 0 && this.#events.length === 0 && !isTouching) return;
    if (step.kind === "start" && record === this.#savedRecord) this.#announceLater(events);
    else this.#save(record, events);
  }

  /** Starting takes a moment and changes nothing that is remembered: what is said of it goes into the write that follows. */
  #announceLater(events: readonly EventContent[]): void {
    this.#events = [...this.#events, ...events];
    this.#announceTimer = this.#options.services.clock.timer(ANNOUNCE_DELAY_MS, () => {
      try {
        this.#save(this.#record, []);
      } catch (error) {
        this.#log().warn(
          { err: maskError(error, secretsOfRecord(this.#record)) },
          "what a deployment does cannot be stored at the moment; it is tried again. See: edge-agent doctor (disk, store)",
        );
      }
    });
  }

  #applyResult(result: StepResult, observed: Observed | undefined): void {
    const { failure } = result;
    if (result.record) this.#record = { ...this.#record, ...result.record };
    if (failure) this.#record = { ...this.#record, ...this.#asFailure(failure) };
    this.#progress = { ...this.#progress, ...result.progress };
    this.#events = [...this.#events, ...(result.events ?? [])];
    this.#observed = failure || !result.observed || !observed ? undefined : { ...observed, ...result.observed };
  }

  /** What goes wrong on the way back does not take the place of what made it necessary. */
  #asFailure(failure: Failure): Partial<DeploymentRecord> {
    return this.#record.failure ? { rollbackFailure: failure } : { failure };
  }

  #failStep(kind: Step["kind"], error: unknown): void {
    const failure = toFailure(error, stepName(kind), this.#record);
    if (failure.code === "Internal")
      this.#log().error(
        { err: maskError(error, secretsOfRecord(this.#record)), step: kind },
        "a deployment step failed unexpectedly; what it made is removed. Please report it: edge-agent support-bundle FILE",
      );
    this.#applyResult({ failure }, undefined);
  }

  /**
   * Decides what an error outside the ordinary leads to: wait and try again, or give the deployment up. Whatever else
   * goes wrong, it waits, but for a failure that is new and needs nothing undone. Never rejects.
   */
  async #recover(error: unknown): Promise<void> {
    if (this.#step.signal.aborted) return;
    const hadFailed = this.#record.failure !== undefined;
    if (isEngineDown(error)) this.#onEngineDown(error);
    else {
      this.#log().error(
        { err: maskError(error, secretsOfRecord(this.#record)) },
        "a deployment could not go on; it is tried again until its time is over. See: edge-agent doctor (engine, disk)",
      );
    }
    if (!hadFailed && this.#record.failure && !mayHaveContainer(this.#record)) return;
    try {
      await this.#backOff();
    } catch {
      // Aborted, which the loop looks at itself.
    }
  }

  #onEngineDown(error: EngineError): void {
    const { clock, config } = this.#options.services;
    this.#engineDownSince ??= clock.monotonic();
    // An engine that went down may have taken the container with it: started and verified anew, as after a restart.
    this.#progress = NO_PROGRESS;
    const isHopeless = clock.monotonic() - this.#engineDownSince >= config.enginePatienceMs;
    // One that is there and does not answer may only be busy, such as with other deployments.
    const isAbsent = error.kind === "unavailable" && !this.#record.checked && !this.#record.touched;
    if (!this.#record.failure && (isHopeless || isAbsent)) this.#failStep(this.#announced ?? "check", error);
    if (this.#attempt > 0 || (this.#record.failure && !mayHaveContainer(this.#record))) return;
    try {
      this.#emitMessage(`The container engine does not answer; waiting for it. ${error.message}`);
    } catch (problem) {
      this.#log().warn(
        { err: problem, reason: error.message },
        "the container engine does not answer, and that cannot be stored; it is waited for. See: edge-agent doctor (engine, disk)",
      );
    }
  }

  #emitMessage(message: string): void {
    this.#save(this.#record, [runningEvent(stepName(this.#announced ?? "check"), message)]);
  }

  #save(changed: DeploymentRecord, events: readonly EventContent[], more: Partial<StoreChange> = {}): void {
    this.#announceTimer?.[Symbol.dispose]();
    const all = [...this.#events, ...events];
    const record = withoutSpentCredentials(changed);
    this.#options.services.store.save({ deployment: record, events: all, ...more });
    this.#record = record;
    this.#savedRecord = record;
    this.#events = [];
    for (const event of all) this.#logEvent(event);
  }

  #emit(event: EventContent): void {
    try {
      this.#save(this.#record, [event]);
    } catch (error) {
      // Progress is worth a line on the screen, not a pull that begins anew because the disk is full.
      if (!(error instanceof StoreError) || event.progress === undefined) throw error;
    }
  }

  #logEvent(event: EventContent): void {
    const { status, step, message, code, progress } = event;
    const level = status === "Fail" ? "warn" : progress === undefined ? "info" : "debug";
    // Whoever reads this in a year has no table of codes at hand.
    const advice = isErrorCode(code) ? ` What to do: ${errorEntry(code).hint}` : "";
    const text = advice === "" || /[.!?]$/.test(message) ? message : `${message}.`;
    this.#log()[level]({ status, step, ...(code && { code }), ...(isFinal(event) && event.details) }, text + advice);
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
      emit: (event) => this.#emit(event),
      signal: this.#step.signal,
    };
  }
}
