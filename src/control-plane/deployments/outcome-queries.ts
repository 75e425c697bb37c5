import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { reportDeltaSchema } from "../../protocol/app-report.ts";
import { deploymentOutcomesSchema, MAX_QUERIED_DEPLOYMENTS } from "../../protocol/deployment-outcome.ts";
import type { QueryKind } from "../../protocol/device-query.ts";
import type { EdgeError } from "../../protocol/errors.ts";
import { type Deployment, isFinished } from "../core/deployment.ts";
import {
  type ReportedOutcome,
  outcomeFromReport,
  markForOutcomeQuery,
  needsOutcomeQuery,
  applyOutcome,
  type OutcomeDecision,
} from "../core/resolve-outcome.ts";
import { cancelReason } from "../core/reconcile.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import type { DeviceDirectory, DeviceSession } from "../devices/session.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Recorder } from "./recorder.ts";

/** How long a device may take to answer, and how long it is left alone after it did not, in milliseconds. */
const RESPONSE_TIMEOUT_MS = 10_000;
const RETRY_DELAY_MS = 30_000;

/** Of the deployments that ended in doubt, how many are asked about in one round; the rest in a later session. */
const MAX_ENDED_DEPLOYMENTS = 100;

export interface OutcomeQueriesOptions {
  readonly store: DeploymentStore;
  readonly recorder: Recorder;
  readonly dispatcher: Dispatcher;
  readonly devices: DeviceDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Asks devices what became of deployments in doubt, and has the record and the device follow what they answer. */
export class OutcomeQueries {
  readonly #options: OutcomeQueriesOptions;
  /** Sessions that are asked again soon: about everything, and so once, however many questions failed. */
  readonly #retrying = new WeakSet<DeviceSession>();

  constructor(parts: OutcomeQueriesOptions) {
    this.#options = parts;
  }

  /**
   * Asks about these deployments of the device, and about those that ended before it had said what became of them; those
   * that are not in doubt in this session are left out. Resolves when
   * the questions are on their way: the answers come over the session as everything else does.
   */
  async queryOutcomes(session: DeviceSession, deployments: readonly Deployment[]): Promise<void> {
    const ended = await this.#endedUncertain(session);
    // One that has ended between the two is in both.
    const known = new Map([...deployments, ...ended].map((deployment) => [deployment.id, deployment]));
    const asked = [...known.values()].filter((deployment) => needsOutcomeQuery(deployment, session.epoch));
    if (!session.supports("queries")) {
      for (const deployment of asked) await this.#applyOutcome(session, deployment, fallbackOutcome(deployment));
      return;
    }
    for (let from = 0; from < asked.length; from += MAX_QUERIED_DEPLOYMENTS) {
      this.#queryBatch(session, asked.slice(from, from + MAX_QUERIED_DEPLOYMENTS));
    }
  }

  async #endedUncertain({ assetUuid, epoch }: DeviceSession): Promise<Deployment[]> {
    const { store, recorder } = this.#options;
    const ended: Deployment[] = [];
    for (const { id } of await store.listEndedUncertain(assetUuid, MAX_ENDED_DEPLOYMENTS)) {
      const after = await recorder.update(id, (current, nowMs) => markForOutcomeQuery(current, nowMs, epoch));
      if (after) ended.push(after);
    }
    return ended;
  }

  #queryBatch(session: DeviceSession, asked: readonly Deployment[]): void {
    this.#query(
      session,
      "deployments",
      { deployment_ids: asked.map(({ id }) => id) },
      {
        answer: async (body) => {
          const parsed = deploymentOutcomesSchema.safeParse(body);
          if (!parsed.success) return false;
          const answers = new Map(parsed.data.deployments.map((outcome) => [outcome.deployment_id, outcome]));
          for (const deployment of asked) {
            const answer = answers.get(deployment.id);
            if (answer) await this.#applyOutcome(session, deployment, answer);
          }
          return answers.size >= asked.length;
        },
        // An older agent.
        refused: () => this.#queryReport(session, asked),
      },
    );
  }

  #queryReport(session: DeviceSession, asked: readonly Deployment[]): void {
    this.#query(
      session,
      "report",
      {},
      {
        answer: async (body) => {
          const parsed = reportDeltaSchema.safeParse(body);
          if (!parsed.success) return false;
          const { apps } = parsed.data;
          for (const deployment of asked) {
            const answer = outcomeFromReport(deployment, apps);
            const isUnavailable = answer === "unavailable" || answer.status === null;
            await this.#applyOutcome(session, deployment, isUnavailable ? fallbackOutcome(deployment, answer) : answer);
          }
          return true;
        },
      },
    );
  }

  /** One question, asked again later where it is not answered as it should be. */
  #query(
    session: DeviceSession,
    what: QueryKind,
    params: unknown,
    on: { readonly answer: (body: unknown) => Promise<boolean>; readonly refused?: () => void },
  ): void {
    const { clock, logger } = this.#options;
    const retry = (reason: string): void => {
      if (this.#retrying.has(session)) return;
      this.#retrying.add(session);
      logger.warn(
        { asset: session.assetUuid, reason },
        "the device did not say what became of its deployments; asking again",
      );
      clock.timer(RETRY_DELAY_MS, () => {
        this.#retrying.delete(session);
        void this.#retryQueries(session);
      });
    };
    const silence = clock.timer(RESPONSE_TIMEOUT_MS, () => {
      query[Symbol.dispose]();
      session.checkLiveness();
      retry("no answer");
    });
    const query = session.query(what, params, {
      answer: async (body) => {
        silence[Symbol.dispose]();
        if (await on.answer(body)) return;
        query[Symbol.dispose]();
        retry("not understood");
      },
      end: (error: EdgeError | undefined) => {
        silence[Symbol.dispose]();
        // The connection is gone: it is asked on the next one.
        if (!this.#isCurrent(session)) return;
        if (error?.code === "InvalidRequest" && on.refused) on.refused();
        else retry(error?.code ?? "no answer");
      },
    });
  }

  async #retryQueries(session: DeviceSession): Promise<void> {
    if (!this.#isCurrent(session)) return;
    try {
      await this.queryOutcomes(session, await this.#options.store.listUnfinished(session.assetUuid));
    } catch (error) {
      this.#options.logger.error({ err: error, asset: session.assetUuid }, "cannot ask a device about its deployments");
    }
  }

  #isCurrent(session: DeviceSession): boolean {
    return this.#options.devices.find(session.assetUuid) === session;
  }

  async #applyOutcome(session: DeviceSession, { id }: Deployment, answer: ReportedOutcome): Promise<void> {
    let decision: OutcomeDecision = {};
    const after = await this.#options.recorder.update(id, (current, nowMs) => {
      decision = applyOutcome(current, answer, nowMs, session.epoch);
      return decision.change;
    });
    if (!after) return;
    const { nextAction } = decision;
    if (nextAction === "send") await this.#options.dispatcher.send(session, after);
    const reason = cancelReason(after);
    // Not held when it was asked about, it may have been sent before; and cancelled since.
    if (reason && (nextAction === "cancel" || after.status === "Running")) {
      session.send({ type: "cancel", deployment_id: id, reason });
    }
  }
}

/** For a device that cannot say: what it never acknowledged, it may not have; what it did, it may have ended well. */
function fallbackOutcome(deployment: Deployment, answer: ReportedOutcome = "unavailable"): ReportedOutcome {
  const { uncertainty, acknowledgedAtMs, cancelRequestedAtMs } = deployment;
  const mayBeSent =
    !isFinished(deployment) &&
    uncertainty === "asked" &&
    acknowledgedAtMs === undefined &&
    cancelRequestedAtMs === undefined;
  return mayBeSent ? { status: null } : answer;
}
