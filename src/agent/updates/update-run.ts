import { randomBytes } from "node:crypto";
import { fullJitter } from "../../lib/backoff.ts";
import { pause } from "../../lib/clock.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { readReleases, type ReleasesState, TRIAL_TICK_S } from "../../lib/release/releases-state.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { failEvent } from "../core/deployment/fail-event.ts";
import type { AgentUpdateState, DeploymentRecord, Failure } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import { formatSize } from "../core/text.ts";
import { followUpdate, type UpdateCourse } from "../core/updates/follow-update.ts";
import { DownloadError } from "../download/download-error.ts";
import { RegistryError } from "../registry/registry-error.ts";
import { toFailure } from "../steps/step-failure.ts";
import { ENDED_UPDATE, type UpdateServices } from "./agent-updates.ts";
import { bringRelease, type PricedRelease, runningDescription, type UpdateProgress } from "./bring-release.ts";
import { runningRelease } from "./describe.ts";
import { findAnswer, askUpdaterAs, lastRequest } from "./handover.ts";
import { readTrialLog } from "./trial-log.ts";
import { toReleaseFailure } from "./update-failure.ts";

const LOOK_INTERVAL_MS = 2_000;
/** A slow SD card takes minutes to write a release. */
const ANSWER_TIMEOUT_MS = 660_000;
const MAX_ASKS = 3;
/** How long other deployments may take to end before the restart. After that they are parked, and go on after it. */
const MAX_IDLE_WAIT_MS = 600_000;
const IDLE_INTERVAL_MS = 1_000;
/**
 * How long a release must look as if the package had replaced it: the updater also takes away the mark of a trial when it begins the
 * next one, and writes and flushes a few files in between.
 */
const REPLACED_AFTER_MS = 60_000;
const RETRY = { baseMs: 1_000, maxMs: 30_000 };
/**
 * Carries out one update of the agent: finds the release, downloads it, hands it to the updater, and follows the trial. After the
 * restart the version on trial carries on, and after that perhaps the version before, by the record alone.
 */
export class AgentUpdateRun {
  readonly #services: UpdateServices;
  readonly #stopped = new AbortController();
  /** Aborted when the update is cancelled: what goes on before the release is handed over ends then. */
  readonly #cancelled = new AbortController();
  #record: DeploymentRecord;
  #attempt = 0;
  #asks = 0;
  #askedAtMs: number | undefined;
  #told: string | undefined;
  /** Since when the release looks replaced. */
  #replacedSinceMs: number | undefined;

  constructor(services: UpdateServices, record: DeploymentRecord) {
    this.#services = services;
    this.#record = record;
  }

  get record(): DeploymentRecord {
    return this.#record;
  }

  /** Cancels the update: on disk on return. A version on trial is given up; one that is confirmed stays. */
  fail(failure: Failure): void {
    if (this.#record.failure || this.#record.outcome !== "pending") return;
    this.#save({ ...this.#record, failure });
    this.#cancelled.abort(new DOMException("the update was cancelled", "AbortError"));
  }

  /** Stops the run; it is resumed at the next start. */
  stop(): void {
    this.#stopped.abort(new DOMException("the agent is stopping", "AbortError"));
  }

  /** Resolves when the update has ended or was stopped. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && this.#record.outcome === "pending") {
      try {
        if (this.#state.handedOver) await this.#follow(this.#state.handedOver);
        else if (this.#record.failure) this.#endFailed(this.#record.failure);
        else await this.#bring(AbortSignal.any([signal, this.#cancelled.signal]));
        this.#attempt = 0;
      } catch (error) {
        if (!signal.aborted && !this.#cancelled.signal.aborted) await this.#recover(error);
      }
    }
  }

  /** Fails the update, or waits for the next attempt: after an error that may pass, and if the failure cannot be stored. */
  async #recover(error: unknown): Promise<void> {
    const { clock, random, logger } = this.#services;
    let cause = error;
    try {
      const failure = this.#failureOf(error);
      if (failure) return this.#save({ ...this.#record, failure });
    } catch (unstored) {
      cause = unstored;
    }
    logger.error({ err: cause, deployment: this.#record.id }, "an update of the agent failed; it is tried again");
    await pause(clock, fullJitter(this.#attempt++, RETRY, random()), this.#stopped.signal);
  }

  get #state(): AgentUpdateState {
    return this.#record.agentUpdate ?? {};
  }

  get #course(): UpdateProgress {
    return {
      record: () => this.#record,
      save: (record) => this.#save(record),
      tell: (event) => this.#tell(event),
    };
  }

  /** Errors that no further attempt would change; `undefined` for others, such as of a store that cannot be written. */
  #failureOf(error: unknown): Failure | undefined {
    const step = this.#record.digest === undefined ? "checking" : "pulling";
    if (error instanceof ReleaseError) return toReleaseFailure(error, step, this.#detailsOf(error));
    const isKnown = error instanceof EdgeError || error instanceof RegistryError || error instanceof DownloadError;
    return isKnown ? toFailure(error, step, this.#record) : undefined;
  }

  #detailsOf({ code }: Pick<ReleaseError, "code">): Record<string, unknown> {
    const { pin, trial } = this.#releases();
    if (code === "pinned") return { pinned_to: pin };
    return code === "on_trial" && trial ? { on_trial: trial.version } : {};
  }

  /** Has the release downloaded and hands it over. A dry run ends with the price. */
  async #bring(signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.#services;
    const brought = await bringRelease(this.#services, this.#course, signal);
    const { version } = brought;
    if (brought.kind === "installed") return this.#endInstalled(version);
    if (brought.kind === "priced") return this.#endPriced(brought);
    await this.#untilIdle(signal);
    const handedOver = { request: randomBytes(16).toString("hex"), version, attempt: 0 };
    // The device may be away from now on: the service allows the time of a trial.
    const event = {
      ...runningEvent("starting", `Release ${version} is on the device; the agent restarts into it, on trial.`),
      details: { version, waiting_s: settings.trialS },
    };
    this.#save({ ...this.#record, agentUpdate: { ...this.#state, handedOver } }, [event]);
    this.#ask("install");
    await pause(clock, LOOK_INTERVAL_MS, this.#stopped.signal);
  }

  /** Waits until no other deployment is at work, since the agent is about to restart. One that takes too long is parked by that. */
  async #untilIdle(signal: AbortSignal): Promise<void> {
    const { isWorking, clock } = this.#services;
    const sinceMs = clock.monotonic();
    if (isWorking()) this.#tell(runningEvent("starting", "Waiting for other deployments to end before the restart."));
    while (isWorking() && clock.monotonic() - sinceMs < MAX_IDLE_WAIT_MS) await clock.sleep(IDLE_INTERVAL_MS, signal);
  }

  /** Looks once at what has become of the release, and acts on it. */
  async #follow(handedOver: NonNullable<AgentUpdateState["handedOver"]>): Promise<void> {
    const { versions, clock } = this.#services;
    const { releasesFolder, program, stateDir } = versions;
    const { request, version } = handedOver;
    // In this order: the updater puts a release on trial before it answers.
    const answer = findAnswer(request, releasesFolder);
    const state = this.#releases();
    // After a restart no process works on a request that is not the last one.
    const isLost = this.#askedAtMs === undefined && lastRequest(stateDir)?.id !== request;
    const isLate = this.#askedAtMs !== undefined && clock.monotonic() - this.#askedAtMs > ANSWER_TIMEOUT_MS;
    if (this.#askedAtMs === undefined && !isLost) this.#askedAtMs = clock.monotonic();
    const course = followUpdate({
      ...handedOver,
      isCancelled: this.#record.failure !== undefined,
      running: runningRelease(program, releasesFolder),
      current: state.current,
      pin: state.pin,
      trial: state.trial,
      setAside: state.setAside.get(version),
      answer,
      isOverdue: isLost || isLate,
    });
    if (this.#isSettled(course)) this.#act(course, handedOver, state);
    if (this.#record.outcome === "pending") await pause(clock, LOOK_INTERVAL_MS, this.#stopped.signal);
  }

  #isSettled(course: UpdateCourse): boolean {
    const isReplaced = course.kind === "back" && course.reason === "replaced";
    const nowMs = this.#services.clock.monotonic();
    this.#replacedSinceMs = isReplaced ? (this.#replacedSinceMs ?? nowMs) : undefined;
    return this.#replacedSinceMs === undefined || nowMs - this.#replacedSinceMs >= REPLACED_AFTER_MS;
  }

  #act(course: UpdateCourse, handedOver: NonNullable<AgentUpdateState["handedOver"]>, state: ReleasesState): void {
    const { version, request } = handedOver;
    switch (course.kind) {
      case "wait":
        return;
      case "on_trial":
        return course.isNew ? this.#tellTrial(handedOver, state) : undefined;
      case "tried_again": {
        const text = `Release ${version} was not confirmed in time, and the version before runs. It is tried again once this device is online.`;
        return this.#told === text ? undefined : this.#tell(runningEvent("rolling_back", (this.#told = text)));
      }
      case "ask":
        return this.#ask("install");
      case "abandon":
        return this.#ask("abandon");
      case "confirmed":
        return this.#endConfirmed(version);
      case "refused": {
        const answer = findAnswer(request, this.#services.versions.releasesFolder);
        const refusal = answer?.ok === false ? answer : { code: "failed", message: "the updater refuses the release" };
        return this.#endFailed(toReleaseFailure(refusal, "starting", this.#detailsOf(refusal as ReleaseError)));
      }
      case "back":
        return this.#endBack(version, course.reason);
    }
  }

  #tellTrial(handedOver: NonNullable<AgentUpdateState["handedOver"]>, { trial }: ReleasesState): void {
    if (!trial) return;
    const leftS = Math.max(0, trial.maxTicks - trial.ticks) * TRIAL_TICK_S;
    const attempt = trial.attempt > 1 ? `, attempt ${trial.attempt}` : "";
    const message = `Release ${handedOver.version} runs on trial${attempt}: it confirms that it works, or the device goes back within ${leftS} s.`;
    const event = { ...runningEvent("verifying", message), details: { version: handedOver.version, waiting_s: leftS } };
    const agentUpdate = { ...this.#state, handedOver: { ...handedOver, attempt: trial.attempt } };
    this.#save({ ...this.#record, agentUpdate }, [event]);
  }

  /** Asks the updater, also in another process than the one that asked before. */
  #ask(action: "install" | "abandon"): void {
    const { versions, clock } = this.#services;
    const { handedOver, downgrade = false, again = false } = this.#state;
    if (!handedOver) return;
    const { request: id, version } = handedOver;
    if (action === "abandon") {
      const last = lastRequest(versions.stateDir);
      if (last?.action !== "abandon" || last.version !== version)
        askUpdaterAs(versions.stateDir, { id, action, version });
      return;
    }
    if (this.#asks++ === MAX_ASKS)
      return this.#endFailed(toReleaseFailure({ code: "failed", message: "the updater does not answer" }, "starting"));
    this.#askedAtMs = clock.monotonic();
    askUpdaterAs(versions.stateDir, { id, action, downgrade, again, deployment: this.#record.id });
  }

  #endConfirmed(version: string): void {
    const { failure } = this.#record;
    if (!failure) {
      const message = `The agent is ${version} now, and has confirmed that it works.${this.#lossNote}`;
      const details = { version, ...this.#lossDetails };
      return this.#end("succeeded", { status: "Success", step: "done", message, details });
    }
    const message = `${failure.message} Release ${version} had been confirmed before, and stays.`;
    this.#endFailed({ ...failure, message, details: { ...failure.details, version } });
  }

  #endBack(version: string, reason: string): void {
    const { failure } = this.#record;
    const logs = readTrialLog(this.#services.versions.releasesFolder, version);
    const details = { version, reason, ...this.#lossDetails, ...(logs.length > 0 && { logs }) };
    if (failure) return this.#endFailed({ ...failure, details: { ...failure.details, ...details } });
    const message = `Release ${version} did not work: ${REASONS[reason] ?? reason}. The device runs the version before.${this.#lossNote}`;
    this.#endFailed({ code: "AgentUpdateFailed", message, step: "rolling_back", details });
  }

  get #lossNote(): string {
    if (!this.#state.isStoreLost) return "";
    return " Since the update began, the agent's store was lost; apps are found again by their containers.";
  }

  get #lossDetails(): Record<string, unknown> {
    return this.#state.isStoreLost ? { store_lost: true } : {};
  }

  #endInstalled(version: string): void {
    const message = `Nothing to change: ${version} is what runs.`;
    this.#end("succeeded", { status: "Success", step: "done", message, details: { version } });
  }

  #endPriced({ version, digest, cost }: PricedRelease): void {
    const price = cost.downloadBytes === 0 ? "nothing" : formatSize(cost.downloadBytes);
    const message = `Nothing was changed. Updating the agent from ${runningDescription(this.#services.versions).version} to ${version} would download ${price}.`;
    const details = {
      dry_run: true,
      version,
      image_digest: digest,
      download_bytes: cost.downloadBytes,
      disk_bytes: cost.diskBytes,
    };
    this.#end("succeeded", { status: "Success", step: "done", message, details });
  }

  #endFailed(failure: Failure): void {
    const record = { ...this.#record, failure };
    this.#end("failed", failEvent(failure, record), record);
  }

  #end(outcome: "succeeded" | "failed", event: EventContent, record = this.#record): void {
    const { registry_auth: _spent, ...options } = record.options;
    this.#save({ ...record, options, outcome }, [event]);
    if (this.#releases().deployment?.id === record.id) this.#services.store.saveLearnedValue(ENDED_UPDATE, record.id);
  }

  #releases(): ReleasesState {
    return readReleases(this.#services.versions.releasesFolder);
  }

  #tell(event: EventContent): void {
    this.#save(this.#record, [event]);
  }

  #save(record: DeploymentRecord, events: readonly EventContent[] = []): void {
    this.#services.store.save({ deployment: record, events });
    this.#record = record;
    for (const event of events) this.#logEvent(event);
  }

  /** A person at the device follows the update in its log, as every other deployment. */
  #logEvent({ status, step, code, progress, message }: EventContent): void {
    const level = status === "Fail" ? "warn" : progress === undefined ? "info" : "debug";
    this.#services.logger[level]({ deployment: this.#record.id, status, step, ...(code && { code }) }, message);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  crashed: "it ended three times before it was confirmed",
  unconfirmed: "it was not confirmed in time",
  unwritable: "its starts could not be recorded, since the disk cannot be written",
  pinned: "a person has pinned this device to another version",
  replaced: "the package of the system has replaced it",
};
