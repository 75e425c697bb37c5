import type { EventContent, ProgressDetails } from "../../protocol/deployments/deployment-event.ts";
import type { HealthStatus } from "../core/app/container-status.ts";
import { nextNoticeMs, seconds } from "../core/deployment/health-limit.ts";
import type { VerifyWindow } from "../core/deployment/verify.ts";
import { StoreError } from "../store/store.ts";
import type { StepContext } from "./context.ts";

/** Limit for the output of a health check in a message, in characters. */
const MAX_OUTPUT_LENGTH = 200;

type NoticeContext = Pick<StepContext, "emit" | "record" | "config" | "logger">;

/** What the last sample of the app shows. */
interface Sampled {
  readonly health: HealthStatus;
  /** Output of the last health check run, without secrets. */
  readonly output: string;
}

/** Reports now and then that a verification goes on, so that a long one is not silent. */
export class WaitNotices {
  readonly #context: NoticeContext;
  #dueMs = nextNoticeMs(0);

  constructor(context: NoticeContext) {
    this.#context = context;
  }

  /** Reports the wait if that is due. @param elapsedMs since the verification began */
  tell(sampled: Sampled, elapsedMs: number, window: VerifyWindow): void {
    if (elapsedMs < this.#dueMs) return;
    this.#dueMs = nextNoticeMs(elapsedMs);
    const { emit, record, logger } = this.#context;
    const step = record.failure ? ("rolling_back" as const) : ("verifying" as const);
    const about = sampled.health === "none" ? settleNotice : healthNotice;
    try {
      emit({ status: "Running", step, ...about(sampled, elapsedMs, window, this.#context) });
    } catch (error) {
      // A notice that cannot be stored must not start the verification again.
      if (!(error instanceof StoreError)) throw error;
      logger.debug({ err: error, deployment: record.id }, "a notice of a verification could not be stored");
    }
  }
}

type NoticeText = Pick<EventContent, "message" | "details">;

function settleNotice(_sampled: Sampled, elapsedMs: number, { settleMs }: VerifyWindow): NoticeText {
  const message = `Waiting whether the app stays up: it has for ${seconds(elapsedMs)} s of ${seconds(settleMs)} s.`;
  return { message };
}

function healthNotice(
  { health, output }: Sampled,
  elapsedMs: number,
  { healthTimeoutMs: limitMs }: VerifyWindow,
  { config }: NoticeContext,
): NoticeText {
  const wait = `not healthy after ${seconds(elapsedMs)} s of at most ${seconds(limitMs)} s`;
  const shown = output.replace(/\s+/g, " ").slice(0, MAX_OUTPUT_LENGTH);
  return {
    message: `Waiting for the health check: ${wait}.${shown === "" ? "" : ` Its last output: ${shown}`}`,
    details: {
      health,
      // A wait longer than the device's own limit was asked for: the service adds it to the deployment's time.
      ...(limitMs > config.healthTimeoutMs &&
        ({ waiting_s: seconds(limitMs - elapsedMs) } satisfies Partial<ProgressDetails>)),
    },
  };
}
