import type { Logger } from "../../../lib/logger.ts";

/** Reasons that are logged during one outage. */
const MAX_REASONS = 5;

/** Logs each change of the connection once, however often connecting fails meanwhile, and what was dropped, with its count. */
export class OutageLog {
  readonly #logger: Logger;
  readonly #urls: readonly string[];
  /** `undefined` while connected. */
  #reasons: Set<string> | undefined = new Set();
  #dropped = 0;

  constructor(logger: Logger, urls: readonly string[]) {
    this.#logger = logger;
    this.#urls = urls;
  }

  up(server: string): void {
    this.#reasons = undefined;
    this.#logger.info({ server }, "connected to NATS");
  }

  /** Logs a reason that is new in this outage. */
  down(reason: string): void {
    this.#reasons ??= new Set();
    if (this.#reasons.has(reason) || this.#reasons.size >= MAX_REASONS) return;
    const fields = { reason, urls: this.#urls };
    if (this.#reasons.size === 0) {
      this.#logger.warn(
        fields,
        "not connected to NATS: devices of other instances cannot be asked, and deployments go on with short pauses",
      );
    } else {
      this.#logger.info(fields, "still not connected to NATS, for another reason");
    }
    this.#reasons.add(reason);
  }

  /** A message was dropped because the server does not keep up. */
  countDropped(): void {
    if (this.#dropped++ === 0) this.#logger.warn("NATS does not keep up; messages are dropped");
  }

  /** A message was not dropped. */
  keepsUp(): void {
    if (this.#dropped > 0) this.#logger.warn({ dropped: this.#dropped }, "NATS keeps up again; messages were dropped");
    this.#dropped = 0;
  }
}
