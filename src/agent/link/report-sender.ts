import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { ResponseSender } from "./response-sender.ts";
import type { ReportSource } from "./ports.ts";

export interface ReportSenderOptions {
  readonly reports: ReportSource;
  readonly responses: ResponseSender;
  readonly logger: Logger;
  /** Hash of the report that the control plane has. */
  readonly knownHash: string | undefined;
}

/** Sends the device's report over one session, as differences to the report that the control plane has. */
export class ReportSender implements Disposable {
  readonly #options: ReportSenderOptions;
  readonly #sessionEnd = new AbortController();
  readonly #subscription: Disposable;
  #knownHash: string | undefined;
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
      const { reports, responses } = this.#options;
      // A change during sending is sent as a difference to the report just sent.
      for (let delta = reports.since(this.#knownHash); delta; delta = reports.since(this.#knownHash)) {
        await responses.send({ type: "report", ...delta }, this.#sessionEnd.signal);
        this.#knownHash = delta.hash;
      }
    } catch (error) {
      if (!this.#sessionEnd.signal.aborted) this.#failed(error);
    } finally {
      this.#isSending = false;
    }
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
