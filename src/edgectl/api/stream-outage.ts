import type { Clock } from "../../lib/clock.ts";
import { EXIT, Failure } from "../failure.ts";

/** A stream that lasts this long is a connection, even if nothing happens: a deployment may wait for its device for hours. */
const MIN_CONNECTION_MS = 10_000;

/** Measures the outage of a stream that is opened again whenever it ends: a service that accepts it and at once ends it is away too. */
export class StreamOutage {
  readonly #clock: Pick<Clock, "monotonic">;
  #since: number | undefined;
  #openedAt: number | undefined;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The stream is open. */
  opened(): void {
    this.#openedAt = this.#clock.monotonic();
  }

  /** The stream has brought an event. */
  progressed(): void {
    this.#since = undefined;
  }

  /**
   * The stream has ended before its last event, or could not be opened. Returns how long the outage has lasted, in milliseconds;
   * `undefined`: it begins.
   */
  ended(): number | undefined {
    const now = this.#clock.monotonic();
    if (this.#openedAt !== undefined && now - this.#openedAt >= MIN_CONNECTION_MS) this.#since = undefined;
    this.#openedAt = undefined;
    const since = this.#since;
    this.#since ??= now;
    return since === undefined ? undefined : now - since;
  }
}

/** The server ends the stream before its last event: once when it is restarted, again and again when something is wrong. */
export class StreamEnded extends Failure {
  constructor() {
    super("The service ended the stream again and again, without an event.", {
      exitCode: EXIT.unreachable,
      hint: "Look at the service's log, and at that of a proxy before it.",
    });
  }
}
