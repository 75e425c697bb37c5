import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { deploymentOutcomesSchema, MAX_QUERIED_DEPLOYMENTS } from "../../protocol/deployments/deployment-outcome.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import type { Deployment } from "../core/deployment.ts";
import { needsOutcomeQuery, type ReportedOutcome } from "../core/resolve-outcome.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import { StaleSessionError } from "../store/sessions.ts";
import { logStoreError, storeRetryDelayMs, StoreUnavailableError } from "../store/unavailable.ts";
import type { DeviceSession } from "../devices/session.ts";
import type { DeploymentExecutor } from "./executor.ts";

/** How long the device may take to answer. */
const RESPONSE_TIMEOUT_MS = 10_000;
/** Delay before the queries are repeated. */
const RETRY_DELAY_MS = 30_000;

/** Maximum number of ended deployments to query in one session; the others follow in later sessions. */
const MAX_ENDED_DEPLOYMENTS = 100;

export interface OutcomeQueriesOptions {
  readonly store: DeploymentStore;
  readonly executor: DeploymentExecutor;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Queries devices for the outcome of deployments where it is uncertain, and applies the answers. */
export class OutcomeQueries {
  readonly #options: OutcomeQueriesOptions;
  /** Sessions with a scheduled retry. A retry repeats all queries, so one is enough however many have failed. */
  readonly #retrying = new WeakSet<DeviceSession>();

  constructor(options: OutcomeQueriesOptions) {
    this.#options = options;
  }

  /**
   * Queries the outcome of these deployments of the device, and of those that were cancelled or timed out before the
   * device reported their outcome.
   * Skips those that need no query in this session. Resolves when the queries are sent, before the answers arrive.
   */
  async queryOutcomes(session: DeviceSession, deployments: readonly Deployment[]): Promise<void> {
    const ended = await this.#endedUncertain(session);
    // A deployment that has ended since the caller read it is in both lists.
    const candidates = new Map([...deployments, ...ended].map((deployment) => [deployment.id, deployment]));
    const uncertain = [...candidates.values()].filter((deployment) => needsOutcomeQuery(deployment, session.epoch));
    for (let from = 0; from < uncertain.length; from += MAX_QUERIED_DEPLOYMENTS) {
      this.#queryBatch(session, uncertain.slice(from, from + MAX_QUERIED_DEPLOYMENTS));
    }
  }

  async #endedUncertain(session: DeviceSession): Promise<Deployment[]> {
    const { store, executor } = this.#options;
    const ended: Deployment[] = [];
    for (const { id } of await store.listEndedUncertain(session.assetUuid, MAX_ENDED_DEPLOYMENTS)) {
      const applied = await executor.apply(id, { kind: "missing", epoch: session.epoch }, session);
      if (applied) ended.push(applied.deployment);
    }
    return ended;
  }

  /** Sends one query. Schedules a retry unless the device reports the outcome of each deployment. */
  #queryBatch(session: DeviceSession, uncertain: readonly Deployment[]): void {
    const { clock, logger } = this.#options;
    const retry = (reason: string): void => {
      if (this.#retrying.has(session)) return;
      this.#retrying.add(session);
      logger.warn(
        { asset: session.assetUuid, reason },
        "the device did not report the outcome of its deployments; asking again",
      );
      clock.timer(RETRY_DELAY_MS, () => {
        this.#retrying.delete(session);
        void this.#retryQueries(session);
      });
    };
    const timeout = clock.timer(RESPONSE_TIMEOUT_MS, () => {
      query[Symbol.dispose]();
      session.checkLiveness();
      retry("no answer");
    });
    const ids = uncertain.map(({ id }) => id);
    const query = session.query(
      "deployments",
      { deployment_ids: ids },
      {
        answer: async (body) => {
          timeout[Symbol.dispose]();
          if (await this.#applyAnswer(session, uncertain, body)) return;
          query[Symbol.dispose]();
          retry("invalid answer");
        },
        end: (error: EdgeError | undefined) => {
          timeout[Symbol.dispose]();
          // The session has ended: the outcome is queried in the next one.
          if (session.isCurrent) retry(error?.code ?? "no answer");
        },
      },
    );
  }

  /** Returns whether the device has reported the outcome of each deployment. */
  async #applyAnswer(session: DeviceSession, uncertain: readonly Deployment[], body: unknown): Promise<boolean> {
    const parsed = deploymentOutcomesSchema.safeParse(body);
    if (!parsed.success) return false;
    const answers = new Map(parsed.data.deployments.map((outcome) => [outcome.deployment_id, outcome]));
    for (const deployment of uncertain) {
      const answer = answers.get(deployment.id);
      if (answer) await this.#applyOutcome(session, deployment, answer);
    }
    return answers.size >= uncertain.length;
  }

  async #retryQueries(session: DeviceSession, attempt = 0): Promise<void> {
    if (!session.isCurrent) return;
    try {
      await this.queryOutcomes(session, await this.#options.store.listUnfinished(session.assetUuid));
    } catch (error) {
      // Another session has taken over, and asks.
      if (error instanceof StaleSessionError) return;
      const { clock, logger } = this.#options;
      logStoreError(logger, error, { asset: session.assetUuid }, "cannot query the outcome of deployments");
      if (!(error instanceof StoreUnavailableError) || this.#retrying.has(session)) return;
      this.#retrying.add(session);
      clock.timer(storeRetryDelayMs(attempt, Math.random()), () => {
        this.#retrying.delete(session);
        void this.#retryQueries(session, attempt + 1);
      });
    }
  }

  /** What has to be sent after it is delivered like everything that is stored: this instance is woken for it. */
  async #applyOutcome(session: DeviceSession, { id }: Deployment, answer: ReportedOutcome): Promise<void> {
    const { executor } = this.#options;
    await executor.apply(id, { kind: "outcome", outcome: answer, epoch: session.epoch }, session);
  }
}
