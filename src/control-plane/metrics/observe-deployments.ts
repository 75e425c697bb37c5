import { Counter, Histogram, type Registry } from "prom-client";
import type { Clock } from "../../lib/clock.ts";
import { ERRORS, type ErrorEntry } from "../../protocol/errors/errors.ts";
import { acknowledgedAtMsOf, codeOf, type Deployment, isFinished, progressOf, statusOf } from "../core/deployment.ts";
import type { DeploymentStore, DeploymentUpdate } from "../store/deployments.ts";
import type { Observer } from "./observer.ts";

const REPLY_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const DURATION_BUCKETS_S = [0.25, 1, 5, 15, 30, 60, 120, 300, 600, 900, 3600, 86_400];

const NO_CODE = "none";
/**
 * Codes in which a deployment may end. Others, as of a newer agent, are counted as `other`. `ServiceUnavailable` also refuses
 * requests for deployments: the instance that holds the device's session does not respond.
 */
const END_CODES: ReadonlySet<string> = new Set([
  ...Object.entries<ErrorEntry>(ERRORS).flatMap(([code, { endsDeployment }]) => (endsDeployment ? [code] : [])),
  "ServiceUnavailable",
]);

/** Counts what happens to deployments when it has been stored, by whatever part of the service. */
export class DeploymentMetrics {
  readonly #clock: Pick<Clock, "now">;
  readonly #observer: Pick<Observer, "bounded">;
  readonly #received;
  readonly #ended;
  readonly #durations;
  readonly #acknowledgements;
  readonly #firstEvents;

  constructor(registry: Registry, clock: Pick<Clock, "now">, observer: Pick<Observer, "bounded">) {
    const registers = [registry];
    this.#clock = clock;
    this.#observer = observer;
    this.#received = new Counter({
      name: "edge_control_deployments_received_total",
      help: "Deployments that were stored, by action.",
      labelNames: ["action"],
      registers,
    });
    this.#ended = new Counter({
      name: "edge_control_deployments_ended_total",
      help: "Deployments that ended, by status and error code; none with Success.",
      labelNames: ["status", "code"],
      registers,
    });
    this.#durations = new Histogram({
      name: "edge_control_deployment_duration_seconds",
      help: "Time from the request to the end of deployments, by action and status.",
      labelNames: ["action", "status"],
      buckets: DURATION_BUCKETS_S,
      registers,
    });
    this.#acknowledgements = new Histogram({
      name: "edge_control_deployment_acknowledgement_seconds",
      help: "Time until the device acknowledged a deployment, from the request or from when a device that was waited for connected.",
      buckets: REPLY_BUCKETS_S,
      registers,
    });
    this.#firstEvents = new Histogram({
      name: "edge_control_deployment_first_device_event_seconds",
      help: "Time until the first event of the device was stored, from the same start.",
      buckets: REPLY_BUCKETS_S,
      registers,
    });
    this.#ended.inc({ status: "Success", code: NO_CODE }, 0);
    for (const code of END_CODES) this.#ended.inc({ status: "Fail", code }, 0);
  }

  /** The same store, whose changes are counted. */
  observe(store: DeploymentStore): DeploymentStore {
    const observed: Pick<DeploymentStore, "createDeployment" | "updateDeployment" | "updateDeployments"> = {
      createDeployment: async (creation) => {
        const result = await store.createDeployment(creation);
        if (result.kind === "quota_exceeded") this.#observer.bounded("storage_per_account");
        if (result.kind === "too_many_running") this.#observer.bounded("unfinished_per_device");
        if (result.kind === "created") this.#countNew(creation.after);
        return result;
      },
      updateDeployment: async (update) => {
        const isStored = await store.updateDeployment(update);
        if (isStored) this.#count(update);
        return isStored;
      },
      updateDeployments: async (updates) => {
        const stored = await store.updateDeployments(updates);
        for (const update of updates) if (stored.has(update.after.id)) this.#count(update);
        return stored;
      },
    };
    return new Proxy(store, {
      get(target, name) {
        if (Object.hasOwn(observed, name)) return Reflect.get(observed, name) as unknown;
        const method: unknown = Reflect.get(target, name);
        return typeof method === "function" ? (method.bind(target) as unknown) : method;
      },
    });
  }

  #countNew(after: Deployment): void {
    this.#received.inc({ action: after.command.action });
    if (isFinished(after)) this.#countEnd(after);
  }

  #count({ before, after }: DeploymentUpdate): void {
    const sinceMs = progressOf(before).sendingSinceMs ?? before.createdAtMs;
    const seconds = Math.max(0, this.#clock.now() - sinceMs) / 1000;
    if (acknowledgedAtMsOf(after) !== undefined && acknowledgedAtMsOf(before) === undefined) {
      this.#acknowledgements.observe(seconds);
    }
    if (before.lastDeviceSeq === 0 && after.lastDeviceSeq > 0) this.#firstEvents.observe(seconds);
    if (isFinished(after) && !isFinished(before)) this.#countEnd(after);
  }

  #countEnd(deployment: Deployment): void {
    const { command, createdAtMs } = deployment;
    const status = statusOf(deployment);
    const known = codeOf(deployment) ?? NO_CODE;
    this.#ended.inc({ status, code: known === NO_CODE || END_CODES.has(known) ? known : "other" });
    this.#durations.observe({ action: command.action, status }, Math.max(0, this.#clock.now() - createdAtMs) / 1000);
  }
}
