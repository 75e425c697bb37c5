import { createHash } from "node:crypto";
import { type Clock, deadline, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { AppReport, DeviceFacts, ReportDelta } from "../../protocol/apps/app-report.ts";
import { MAX_FRAME_BYTES } from "../../protocol/limits.ts";
import { foreignChange, isSameImage } from "../core/app/app-changes.ts";
import { LABELS } from "../core/app/container.ts";
import { runState } from "../core/app/run-state.ts";
import { declaredSecretsOf } from "../core/app/secrets.ts";
import type { AppRecord } from "../core/records.ts";
import type { HeldWork } from "../core/service/crash-loop.ts";
import { type Report, diffReports, fitToSize } from "../core/report/report.ts";
import type { ContainerSummary, Engine, ImageFacts } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import type { ReportSource } from "../link/ports.ts";
import type { HistoryEntry, DeploymentEntry } from "../store/history.ts";
import { toAppReport, withSecretsMasked } from "./app-report.ts";
import { removalsOf } from "./removals.ts";
import { isErrorCode } from "../../protocol/errors/errors.ts";

/** Timeout for reading the state of all apps. */
const ENGINE_TIMEOUT_MS = 30_000;

/** Space in a frame for everything but the apps. */
const FRAME_MARGIN_BYTES = 16 * 1024;

const MAX_HISTORY_ENTRIES = 1_000;
const MAX_CACHED_IMAGES = 200;

/** Reports kept as a base for deltas. The control plane may not have received the newest ones yet. */
const MAX_KEPT_REPORTS = 4;

export interface ReportBuilderOptions {
  readonly engine: Engine;
  readonly store: {
    apps(): readonly AppRecord[];
    history(limit: number): readonly HistoryEntry[];
    fileContent(id: string): Buffer | undefined;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stateDir: string;
  /** Whether a deployment works on the app. Intermediate states are not reported. */
  readonly isBusy: (app: string) => boolean;
  /** Why an app that does not run is not brought back yet. */
  readonly heldFor: (app: string) => HeldWork | undefined;
  readonly facts: (signal: AbortSignal) => Promise<DeviceFacts>;
}

/** Builds the device's report, and deltas to the last reports before it. */
export class ReportBuilder implements ReportSource {
  readonly #options: ReportBuilderOptions;
  readonly #listeners = new Set<() => void>();
  readonly #images = new Map<string, ImageFacts>();
  /** The newest comes last. */
  #reports: Report[] = [];
  /** Monotonic time of the first change that is held back. */
  #heldSinceMs: number | undefined;

  constructor(options: ReportBuilderOptions) {
    this.#options = options;
  }

  since(hash: string | undefined): ReportDelta | undefined {
    const current = this.#reports.at(-1);
    if (!current || current.hash === hash) return undefined;
    return diffReports(
      this.#reports.find((report) => report.hash === hash),
      current,
    );
  }

  outdatedForS(): number | undefined {
    if (this.#heldSinceMs === undefined) return undefined;
    return Math.floor((this.#options.clock.monotonic() - this.#heldSinceMs) / 1000);
  }

  onReport(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Builds and returns a complete report, independent of what was sent before. */
  async buildComplete(signal: AbortSignal): Promise<ReportDelta> {
    const { report } = await this.#build(signal);
    return diffReports(undefined, report);
  }

  /**
   * Builds the report of one app, and returns its specification with declared secrets masked. Returns `undefined` if no app
   * has this name.
   */
  async buildApp(name: string, signal: AbortSignal): Promise<{ spec: AppSpec; report: AppReport } | undefined> {
    const { engine, store } = this.#options;
    const app = store.apps().find((record) => record.name === name);
    if (!app) return undefined;
    using limit = deadline(this.#options.clock, ENGINE_TIMEOUT_MS, signal);
    const containers = await engine.listContainers(limit.signal);
    const { report } = await this.#buildAppReport(
      app,
      containers,
      lastDeployments(store.history(MAX_HISTORY_ENTRIES)),
      limit.signal,
    );
    return { spec: withSecretsMasked(app.spec, this.#secretsOf(app)), report };
  }

  /** The apps in the last report; `undefined` before the first. */
  get reportedApps(): Report["apps"] | undefined {
    return this.#reports.at(-1)?.apps;
  }

  /**
   * Reads the current state. `isChanged`: it differs from the last report. `recheckMs`: milliseconds until it may change
   * without any event. Rejects if the engine does not answer.
   */
  async read(
    signal: AbortSignal,
  ): Promise<{ readonly report: Report; readonly isChanged: boolean; readonly recheckMs: number | undefined }> {
    const { report, recheckMs } = await this.#build(signal);
    return { report, isChanged: report.hash !== this.#reports.at(-1)?.hash, recheckMs };
  }

  /** Makes this the last report, and notifies the listeners. */
  publish(report: Report): void {
    this.#reports = [...this.#reports, report].slice(-MAX_KEPT_REPORTS);
    this.#heldSinceMs = undefined;
    this.#notify();
  }

  /** Changes since this time are held back; `undefined` if the last report is current again. Notifies the listeners. */
  hold(sinceMs: number | undefined): void {
    // The first change counts: from then on the last report is out of date.
    if ((sinceMs === undefined) === (this.#heldSinceMs === undefined)) return;
    this.#heldSinceMs = sinceMs;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  async #build(parent: AbortSignal): Promise<{ readonly report: Report; readonly recheckMs: number | undefined }> {
    const { engine, store, clock, facts, isBusy } = this.#options;
    using limit = deadline(clock, ENGINE_TIMEOUT_MS, parent);
    const { signal } = limit;
    const [containers, device] = await Promise.all([engine.listContainers(signal), facts(signal)]);
    const history = store.history(MAX_HISTORY_ENTRIES);
    const ended = lastDeployments(history);
    const seen: { readonly report: AppReport; readonly recheckMs: number | undefined }[] = [];
    for (const app of store.apps()) {
      const before = isBusy(app.name) ? this.#reports.at(-1)?.apps.get(app.name) : undefined;
      seen.push(
        before ? { report: before, recheckMs: undefined } : await this.#buildAppReport(app, containers, ended, signal),
      );
    }
    const apps = fitToSize(
      seen.map(({ report }) => report),
      MAX_FRAME_BYTES - FRAME_MARGIN_BYTES,
      (value) => Buffer.byteLength(JSON.stringify(value)),
    );
    const removals = removalsOf(history, new Set(apps.map(({ name }) => name)));
    const rechecks = seen.flatMap(({ recheckMs }) => recheckMs ?? []);
    return {
      report: {
        hash: hashOf({ apps, device, removals }),
        apps: new Map(apps.map((app) => [app.name, app])),
        device,
        removals,
      },
      recheckMs: rechecks.length > 0 ? Math.min(...rechecks) : undefined,
    };
  }

  async #buildAppReport(
    app: AppRecord,
    containers: readonly ContainerSummary[],
    ended: ReadonlyMap<string, AppReport["last_deployment"]>,
    signal: AbortSignal,
  ) {
    const { engine, clock } = this.#options;
    const own =
      containers.find(({ id }) => id === app.containerId) ?? (await this.#findContainer(app, containers, signal));
    const container = own && (await engine.inspectContainer(own.id, signal));
    const image = await this.#image(app.imageId, signal);
    const held = this.#options.heldFor(app.name);
    const lastDeployment = ended.get(app.name) ?? null;
    const secrets = this.#secretsOf(app);
    // The reconciler looks at the rest, within half a minute.
    const isForeign = own && own.id !== app.containerId && !isSameImage(own.imageId, app.imageId);
    const seen = isForeign ? { ...app, changed: foreignChange(["image"], unixNow(clock)) } : app;
    const isDown = container && runState(container, clock.timeOfDay()).state !== "running";
    const exit = isDown ? await engine.readLastExit(container.id, signal) : undefined;
    return toAppReport({ app: seen, container, image, lastDeployment, secrets, held, exit }, clock.timeOfDay());
  }

  #secretsOf({ spec }: AppRecord): readonly string[] {
    return declaredSecretsOf(spec, (id) => this.#options.store.fileContent(id)?.toString());
  }

  async #findContainer({ deploymentId }: AppRecord, all: readonly ContainerSummary[], signal: AbortSignal) {
    const { engine, stateDir } = this.#options;
    const labelled = all.filter(
      ({ labels }) => labels[LABELS.deployment] === deploymentId && labels[LABELS.stateDir] === stateDir,
    );
    const [own] = await findManagedContainers(labelled, { engine, recorded: new Set() }, signal);
    return own;
  }

  /** Caches found images only: an image never changes, but it may be pulled later. */
  async #image(id: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    const known = this.#images.get(id);
    if (known) return known;
    const facts = await this.#options.engine.inspectImage(id, signal);
    if (!facts) return undefined;
    if (this.#images.size >= MAX_CACHED_IMAGES) this.#images.clear();
    this.#images.set(id, facts);
    return facts;
  }
}

/** Depends on the content only, so that it is the same after a restart of the agent. */
function hashOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 22);
}

type LastDeployment = NonNullable<AppReport["last_deployment"]>;

/** Returns how the last deployment of each app ended, by app name. Dry runs are left out. */
export function lastDeployments(history: readonly HistoryEntry[]): Map<string, LastDeployment> {
  const last = new Map<string, LastDeployment>();
  for (const entry of history) {
    const ended = entry.kind === "deployment" && !entry.dry_run ? toLastDeployment(entry) : undefined;
    if (ended) last.set(entry.app, ended);
  }
  return last;
}

function toLastDeployment({ id, action, events }: DeploymentEntry): LastDeployment | undefined {
  const final = events.at(-1);
  if (!final || final.status === "Running") return undefined;
  const { status, code, at } = final;
  return {
    deployment_id: id.slice(0, 64),
    action,
    status,
    ...(code !== undefined && isErrorCode(code) && { code }),
    finished_at: at,
  };
}
