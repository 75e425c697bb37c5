import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { AgentFrame } from "../../protocol/link/frames.ts";
import type { ResponseSender } from "./response-sender.ts";
import type { ReportSource } from "./ports.ts";

type ReportFrame = Extract<AgentFrame, { type: "report" | "report_held" }>;

export interface ReportSenderOptions {
  readonly reports: ReportSource;
  readonly responses: ResponseSender;
  readonly logger: Logger;
  /** Hash of the report that the control plane has. */
  readonly knownHash: string | undefined;
}

/**
 * Sends the device's report over one session, as differences to the report that the control plane has, and that changes
 * of it are held back.
 */
export class ReportSender implements Disposable {
  readonly #options: ReportSenderOptions;
  readonly #sessionEnd = new AbortController();
  readonly #subscription: Disposable;
  #knownHash: string | undefined;
  /** The control plane knows that changes are held back. A session begins without. */
  #isHoldKnown = false;
  #isSending = false;

  constructor(options: ReportSenderOptions) {
    this.#options = options;
    this.#knownHash = options.knownHash;
    this.#subscription = options.reports.onReport(() => void this.#send());
    void this.#send();
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    this.#sessionEnd.abort(new DOMException("the session is over", "AbortError"));
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      const { responses } = this.#options;
      // A change during sending is sent afterwards, as a difference to the report just sent.
      for (let next = this.#next(); next; next = this.#next()) {
        await responses.send(next.frame, this.#sessionEnd.signal);
        next.onSent();
      }
    } catch (error) {
      if (!this.#sessionEnd.signal.aborted) this.#failed(error);
    } finally {
      this.#isSending = false;
    }
  }

  /** Returns what the control plane does not know yet: a new report, then whether changes are held back. */
  #next(): { readonly frame: ReportFrame; readonly onSent: () => void } | undefined {
    const { reports } = this.#options;
    const delta = reports.since(this.#knownHash);
    if (delta) {
      const onSent = (): void => {
        this.#knownHash = delta.hash;
        this.#isHoldKnown = false;
      };
      return { frame: { type: "report", ...delta }, onSent };
    }
    const outdatedForS = reports.outdatedForS();
    const isHeld = outdatedForS !== undefined;
    if (isHeld === this.#isHoldKnown) return undefined;
    return {
      frame: { type: "report_held", since_s: outdatedForS ?? null },
      onSent: () => (this.#isHoldKnown = isHeld),
    };
  }

  #failed(error: unknown): void {
    const { logger } = this.#options;
    if (error instanceof EdgeError)
      logger.warn(
        { reason: error.message },
        "the device's report could not be created; it is retried after the next change",
      );
    else logger.error({ err: error }, "the device's report could not be created; it is retried after the next change");
  }
}
