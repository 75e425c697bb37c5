import { createHash } from "node:crypto";
import { fullJitter } from "../../lib/backoff.ts";
import { EdgeError, errorEntry } from "../../protocol/errors/errors.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import {
  appliedEvent,
  cancelledWith,
  dryRunFailure,
  failedGroupEvent,
  groupFailure,
  planEvent,
} from "../core/apply/group-events.ts";
import { fleetMarks } from "../core/apply/fleet-marks.ts";
import { type GroupAction, type GroupPhase, nextGroupActions } from "../core/apply/next-group-actions.ts";
import { boundPlan, planChanges, planText, type ResolvedChild, totalCost } from "../core/apply/plan-changes.ts";
import { toRequestFailure } from "../core/deployment/accept.ts";
import { type DeploymentRecord, type Failure, withoutSpentCredentials } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { Step } from "../core/deployment/step.ts";
import { findCostRefusal } from "../core/image/pull-cost.ts";
import type { StoreChange } from "../store/store.ts";
import type { DeployServices } from "./context.ts";
import type { DeploymentRun, RunOptions } from "./deployment-run.ts";

const RETRY = { baseMs: 500, maxMs: 15_000 };

/** Creates the run of an app's deployment, without beginning it. */
export type CreateRun = (
  record: DeploymentRecord,
  options: Pick<RunOptions, "replacedApps" | "onStep">,
) => DeploymentRun;

export interface GroupRunOptions {
  readonly services: DeployServices;
  /** The group's own record. */
  readonly record: DeploymentRecord;
  /** Those of its apps, in order. */
  readonly children: readonly DeploymentRecord[];
  readonly createRun: CreateRun;
  /** Begins a run, once no other run works on its app. Resolves when it has ended, has parked, or was stopped. */
  readonly begin: (run: DeploymentRun) => Promise<void>;
}

/** What this process knows of one app's deployment. */
interface Child {
  /** As stored, while there is no run. */
  stored: DeploymentRecord;
  run: DeploymentRun | undefined;
  phase: GroupPhase | undefined;
  isActive: boolean;
  isStarted: boolean;
}

/**
 * Carries out one group in a loop: plan, act, wait for an app's deployment to end or to park. Each app is brought to the
 * device by an ordinary deployment; the group decides which one may go how far.
 */
export class GroupRun {
  readonly #options: GroupRunOptions;
  readonly #children: readonly Child[];
  readonly #replacedApps: ReadonlySet<string>;
  readonly #stopped = new AbortController();
  #record: DeploymentRecord;
  #changed = Promise.withResolvers<void>();
  #attempt = 0;

  constructor(options: GroupRunOptions) {
    this.#options = options;
    this.#record = options.record;
    this.#replacedApps = new Set(options.children.flatMap(({ app, previous }) => (previous ? [app] : [])));
    this.#children = options.children.map((stored) => ({
      stored,
      run: undefined,
      phase: undefined,
      isActive: false,
      isStarted: false,
    }));
  }

  get record(): DeploymentRecord {
    return this.#record;
  }

  /** The records of its apps, in order. */
  get children(): readonly DeploymentRecord[] {
    return this.#children.map(recordOf);
  }

  /** Fails the group, which then goes back. The failure is on disk on return. A second one is ignored. */
  fail(failure: Failure): void {
    if (this.#record.failure || this.#record.outcome !== "pending") return;
    this.#save({ ...this.#record, failure }, []);
    this.#changed.resolve();
  }

  /** Stops the group; it is resumed at the next start. */
  stop(): void {
    this.#stopped.abort(new DOMException("the agent is stopping", "AbortError"));
    for (const { run } of this.#children) run?.stop();
    this.#changed.resolve();
  }

  /** Resolves when the group has ended or was stopped. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted && this.#record.outcome === "pending") {
      this.#changed = Promise.withResolvers();
      try {
        const actions = nextGroupActions(this.#record, this.#view());
        for (const action of actions) await this.#carryOut(action);
        if (actions.length === 0) await this.#changed.promise;
        this.#attempt = 0;
      } catch (error) {
        await this.#recover(error);
      }
    }
  }

  #view() {
    return this.#children.map((child) => {
      const { phase, isActive, isStarted } = child;
      return { record: recordOf(child), phase, isActive, isStarted };
    });
  }

  async #recover(error: unknown): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const { clock, random } = this.#options.services;
    this.#log().error(
      { err: error },
      "a step of a group of apps failed; it is tried again. See: edge-agent doctor (engine, disk)",
    );
    try {
      await clock.sleep(fullJitter(this.#attempt++, RETRY, random()), this.#stopped.signal);
    } catch {
      // Aborted: the loop checks that.
    }
  }

  #carryOut(action: GroupAction): void | Promise<void> {
    switch (action.kind) {
      case "advance":
        return this.#advance(this.#child(action.id), action.phase);
      case "accept":
        return this.#accept();
      case "fail":
        return this.fail(this.#failureOf(this.#child(action.id)));
      case "cancel":
        return this.#cancel(this.#child(action.id));
      case "restore":
        return this.#restore(this.#child(action.id));
      case "end":
        return this.#end();
    }
  }

  #failureOf(child: Child): Failure {
    const left = this.#notInRequest();
    const ofAll = this.#record.options.dry_run ? dryRunFailure(this.children, left) : undefined;
    return ofAll ?? groupFailure(recordOf(child), left);
  }

  #advance(child: Child, phase: GroupPhase): void {
    const { createRun, begin } = this.#options;
    const onStep = (step: Step): void => this.#onStep(child, step);
    const run = (child.run ??= createRun(child.stored, { replacedApps: this.#replacedApps, onStep }));
    run.permit(phase);
    child.phase = phase;
    child.isActive = true;
    void begin(run).finally(() => {
      child.isActive = false;
      this.#changed.resolve();
    });
  }

  /** An app that is verified was started before. */
  #onStep(child: Child, { kind }: Step): void {
    if (kind !== "verify" || child.isStarted || recordOf(child).failure) return;
    child.isStarted = true;
    this.#changed.resolve();
  }

  #cancel(child: Child): void {
    const failure = cancelledWith(this.#record);
    if (child.run) return child.run.fail(failure);
    const record = { ...child.stored, failure };
    this.#options.services.store.save({ deployment: record });
    child.stored = record;
  }

  /** As a success is undone that the control plane has given up. */
  #restore(child: Child): void {
    const record: DeploymentRecord = { ...recordOf(child), outcome: "pending", failure: cancelledWith(this.#record) };
    this.#options.services.store.save({ deployment: record });
    child.stored = record;
    child.run = undefined;
    this.#advance(child, "run");
  }

  /** Compares the changes with the expected ones, and their cost with the limits; a dry run ends with both. */
  async #accept(): Promise<void> {
    const { options, apply, app: project } = this.#record;
    const resolved = this.#children.map((child) => ({ record: recordOf(child), source: child.run?.source }));
    const whole = planChanges(resolved);
    const hash = createHash("sha256").update(planText(whole, resolved)).digest("hex");
    const plan = boundPlan(whole);
    const refusal = await this.#findRefusal(resolved);
    if (this.#record.failure) return;
    if (refusal) return this.fail(refusal);
    if (apply?.expect !== undefined && apply.expect !== hash) {
      const message = errorEntry("PlanChanged").message;
      return this.fail({ code: "PlanChanged", message, step: "checking", details: { plan, plan_hash: hash } });
    }
    if (options.dry_run) {
      const { downloadBytes } = totalCost(resolved);
      return this.#end(planEvent(project, plan, { hash, downloadBytes, notInRequest: this.#notInRequest() }));
    }
    this.#save({ ...this.#record, checked: true }, []);
  }

  async #findRefusal(resolved: readonly ResolvedChild[]): Promise<Failure | undefined> {
    const cost = totalCost(resolved);
    if (cost.downloadBytes === 0) return undefined;
    const { host, engineInfo, config } = this.#options.services;
    const { dataRoot } = await engineInfo(this.#stopped.signal);
    const refusal = findCostRefusal(cost, {
      maxImageBytes: undefined,
      deviceMaxDownloadBytes: config.maxDownloadBytes,
      requestMaxDownloadBytes: this.#record.options.max_download_bytes,
      freeBytes: await host.freeBytes(dataRoot),
      reserveBytes: config.diskReserveBytes,
    });
    return (
      refusal && { ...toRequestFailure(new EdgeError(refusal.code, refusal.message, refusal.details)), step: "pulling" }
    );
  }

  #end(planned?: EventContent): void {
    const { failure } = this.#record;
    const records = this.children;
    const event = planned ?? (failure ? failedGroupEvent(failure, records) : appliedEvent(this.#record, records));
    const outcome = failure ? "failed" : "succeeded";
    // In a dry run they have parked; there is nothing to undo.
    const open = records.filter((record) => record.outcome === "pending");
    const children = open.map((record) => withoutSpentCredentials({ ...record, outcome: "failed" }));
    const apps = fleetMarks(this.#record, records, this.#options.services.store.apps());
    this.#save({ ...this.#record, outcome }, [event], { children, apps });
    const level = failure ? "warn" : "info";
    this.#log()[level]({ status: event.status, ...(event.code && { code: event.code }) }, event.message);
  }

  #save(record: DeploymentRecord, events: readonly EventContent[], more: Partial<StoreChange> = {}): void {
    this.#options.services.store.save({ deployment: record, events, ...more });
    this.#record = record;
  }

  /** Installed apps of the project that stay as they are. */
  #notInRequest(): string[] {
    const named = new Set(this.children.map(({ app }) => app));
    const apps = this.#options.services.store.apps();
    return apps
      .filter(({ name, spec }) => spec.project === this.#record.app && !named.has(name))
      .map(({ name }) => name);
  }

  #child(id: string): Child {
    const child = this.#children.find((candidate) => recordOf(candidate).id === id);
    if (!child) throw new Error(`a group has no deployment ${id}`);
    return child;
  }

  #log() {
    return this.#options.services.logger.child({ deployment: this.#record.id, project: this.#record.app });
  }
}

function recordOf({ run, stored }: Child): DeploymentRecord {
  return run?.record ?? stored;
}

/** The event that a group begins with. */
export function checkingGroup(children: readonly DeploymentRecord[]): EventContent {
  const count = children.length === 1 ? "1 app" : `${children.length} apps`;
  return runningEvent("checking", `Comparing ${count} with what is installed.`);
}
