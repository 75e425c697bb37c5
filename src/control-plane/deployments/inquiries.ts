import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { reportChangeSchema } from "../../protocol/app-report.ts";
import { deploymentOutcomesSchema, MAX_ASKED_DEPLOYMENTS } from "../../protocol/deployment-outcome.ts";
import type { QueryKind } from "../../protocol/device-query.ts";
import type { EdgeError } from "../../protocol/errors.ts";
import { type Deployment, isFinished } from "../core/deployment.ts";
import { type Answer, answerFromReport, inquire, isAsked, settle, type Settlement } from "../core/doubt.ts";
import { cancelReason } from "../core/reconcile.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import { type DeviceDirectory, type DeviceSession, TELLING_PROTOCOL } from "./devices.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { Recorder } from "./recorder.ts";

/** How long a device may take to answer, and how long it is left alone after it did not, in milliseconds. */
const ANSWER_MS = 10_000;
const RETRY_MS = 30_000;

/** Of the deployments that ended in doubt, how many are asked about in one round; the rest in a later session. */
const MAX_ENDED = 100;

export interface InquiriesParts {
  readonly store: DeploymentStore;
  readonly recorder: Recorder;
  readonly dispatcher: Dispatcher;
  readonly devices: DeviceDirectory;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Asks devices what became of deployments in doubt, and has the record and the device follow what they answer. */
export class Inquiries {
  readonly #parts: InquiriesParts;
  /** Sessions that are asked again soon: about everything, and so once, however many questions failed. */
  readonly #retrying = new WeakSet<DeviceSession>();

  constructor(parts: InquiriesParts) {
    this.#parts = parts;
  }

  /**
   * Asks about these deployments of the device, and about those that ended before it had said what became of them; those
   * that are not in doubt in this session are left out. Resolves when
   * the questions are on their way: the answers come over the session as everything else does.
   */
  async ask(session: DeviceSession, deployments: readonly Deployment[]): Promise<void> {
    const ended = await this.#endedInDoubt(session);
    // One that has ended between the two is in both.
    const known = new Map([...deployments, ...ended].map((deployment) => [deployment.id, deployment]));
    const asked = [...known.values()].filter((deployment) => isAsked(deployment, session.epoch));
    if (session.protocol < TELLING_PROTOCOL) {
      for (const deployment of asked) await this.#settle(session, deployment, neverAcknowledged(deployment));
      return;
    }
    for (let from = 0; from < asked.length; from += MAX_ASKED_DEPLOYMENTS) {
      this.#askAbout(session, asked.slice(from, from + MAX_ASKED_DEPLOYMENTS));
    }
  }

  async #endedInDoubt({ assetUuid, epoch }: DeviceSession): Promise<Deployment[]> {
    const { store, recorder } = this.#parts;
    const ended: Deployment[] = [];
    for (const { id } of await store.listEndedInDoubt(assetUuid, MAX_ENDED)) {
      const after = await recorder.change(id, (current, nowMs) => inquire(current, nowMs, epoch));
      if (after) ended.push(after);
    }
    return ended;
  }

  #askAbout(session: DeviceSession, asked: readonly Deployment[]): void {
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
            if (answer) await this.#settle(session, deployment, answer);
          }
          return answers.size >= asked.length;
        },
        // An older agent.
        refused: () => this.#askForReport(session, asked),
      },
    );
  }

  #askForReport(session: DeviceSession, asked: readonly Deployment[]): void {
    this.#query(
      session,
      "report",
      {},
      {
        answer: async (body) => {
          const parsed = reportChangeSchema.safeParse(body);
          if (!parsed.success) return false;
          const { apps } = parsed.data;
          for (const deployment of asked) {
            const answer = answerFromReport(deployment, apps);
            const isUnsure = answer === "unsure" || answer.status === null;
            await this.#settle(session, deployment, isUnsure ? neverAcknowledged(deployment, answer) : answer);
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
    const { clock, logger } = this.#parts;
    const retry = (reason: string): void => {
      if (this.#retrying.has(session)) return;
      this.#retrying.add(session);
      logger.warn(
        { asset: session.assetUuid, reason },
        "the device did not say what became of its deployments; asking again",
      );
      clock.timer(RETRY_MS, () => {
        this.#retrying.delete(session);
        void this.#askAgain(session);
      });
    };
    const silence = clock.timer(ANSWER_MS, () => {
      query[Symbol.dispose]();
      session.probe();
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
        if (!this.#isLive(session)) return;
        if (error?.code === "InvalidRequest" && on.refused) on.refused();
        else retry(error?.code ?? "no answer");
      },
    });
  }

  async #askAgain(session: DeviceSession): Promise<void> {
    if (!this.#isLive(session)) return;
    try {
      await this.ask(session, await this.#parts.store.listUnfinished(session.assetUuid));
    } catch (error) {
      this.#parts.logger.error({ err: error, asset: session.assetUuid }, "cannot ask a device about its deployments");
    }
  }

  #isLive(session: DeviceSession): boolean {
    return this.#parts.devices.find(session.assetUuid) === session;
  }

  async #settle(session: DeviceSession, { id }: Deployment, answer: Answer): Promise<void> {
    let settlement: Settlement = {};
    const after = await this.#parts.recorder.change(id, (current, nowMs) => {
      settlement = settle(current, answer, nowMs, session.epoch);
      return settlement.change;
    });
    if (!after) return;
    const { next } = settlement;
    if (next === "send") await this.#parts.dispatcher.send(session, after);
    const reason = cancelReason(after);
    // Not held when it was asked about, it may have been sent before; and cancelled since.
    if (reason && (next === "undo" || after.status === "Running")) {
      session.send({ type: "cancel", deployment_id: id, reason });
    }
  }
}

/** For a device that cannot say: what it never acknowledged, it may not have; what it did, it may have ended well. */
function neverAcknowledged(deployment: Deployment, answer: Answer = "unsure"): Answer {
  const { doubt, acknowledgedAtMs, cancelRequestedAtMs } = deployment;
  const mayBeSent =
    !isFinished(deployment) && doubt === "asked" && acknowledgedAtMs === undefined && cancelRequestedAtMs === undefined;
  return mayBeSent ? { status: null } : answer;
}
