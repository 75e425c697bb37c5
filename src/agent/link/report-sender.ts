import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { ResponseSender } from "./response-sender.ts";
import type { ReportSource } from "./ports.ts";

export interface ReportSenderOptions {
  readonly reports: ReportSource;
  readonly answers: ResponseSender;
  readonly logger: Logger;
  /** Hash of the report the control plane holds. */
  readonly knownHash: string | undefined;
}

/** Sends the device's report over one session: what changed since the one the control plane holds, and nothing else. */
export class ReportSender implements Disposable {
  readonly #options: ReportSenderOptions;
  readonly #over = new AbortController();
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
    this.#over.abort(new DOMException("the session is over", "AbortError"));
  }

  async #send(): Promise<void> {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      const { reports, answers } = this.#options;
      // Changed again while one was under way: what follows is a difference to that one.
      for (let change = reports.since(this.#knownHash); change; change = reports.since(this.#knownHash)) {
        await answers.send({ type: "report", ...change }, this.#over.signal);
        this.#knownHash = change.hash;
      }
    } catch (error) {
      if (!this.#over.signal.aborted) this.#failed(error);
    } finally {
      this.#isSending = false;
    }
  }

  #failed(error: unknown): void {
    const { logger } = this.#options;
    if (error instanceof EdgeError)
      logger.warn(
        { reason: error.message },
        "the report of this device could not be made; it is tried again when something changes",
      );
    else
      logger.error(
        { err: error },
        "the report of this device could not be made; it is tried again when something changes",
      );
  }
}
