/** Bytes that may be on their way to the server. Beyond them messages are dropped. */
export const MAX_UNCONFIRMED_BYTES = 8 * 1024 * 1024;
/** Unconfirmed bytes from which the server is asked for a confirmation. */
const MIN_CONFIRM_BYTES = 256 * 1024;

/** Counts what was given to a connection and is not known to have reached the server, since the connection keeps all of it. */
export class OutboundWindow {
  readonly #confirm: () => Promise<void>;
  #sent = 0;
  #confirmed = 0;
  #isAsking = false;

  /** @param confirm resolves when the server has received all that was given to the connection before */
  constructor(confirm: () => Promise<void>) {
    this.#confirm = confirm;
  }

  /** Takes room for a message. Returns false if there is none. */
  take(bytes: number): boolean {
    if (this.#sent - this.#confirmed + bytes > MAX_UNCONFIRMED_BYTES) return false;
    this.#sent += bytes;
    return true;
  }

  /** To be called after the message that `take` made room for was given to the connection. */
  confirmSoon(): void {
    if (this.#isAsking || this.#sent - this.#confirmed < MIN_CONFIRM_BYTES) return;
    this.#isAsking = true;
    // Rejected when the connection has ended.
    this.#ask().catch(() => undefined);
  }

  async #ask(): Promise<void> {
    while (this.#sent - this.#confirmed >= MIN_CONFIRM_BYTES) {
      const sent = this.#sent;
      await this.#confirm();
      this.#confirmed = sent;
    }
    this.#isAsking = false;
  }
}
