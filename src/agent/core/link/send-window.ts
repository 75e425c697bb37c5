interface InFlight {
  readonly deploymentId: string;
  readonly deviceSeq: number;
  /** Monotonic milliseconds. */
  readonly sentAt: number;
}

/**
 * Tracks the sent and unacknowledged events of one session: limits how many may be in flight, and checks
 * acknowledgements. Memory is bounded by `size` and the number of deployments with unacknowledged events.
 */
export class SendWindow {
  readonly #size: number;
  #inFlight: InFlight[] = [];
  readonly #sentUpTo = new Map<string, number>();

  /** @param size maximum number of unacknowledged events, at least 1 */
  constructor(size: number) {
    this.#size = size;
  }

  /** Number of events that may be sent now. */
  get room(): number {
    return this.#size - this.#inFlight.length;
  }

  /** When the oldest unacknowledged event was sent; `undefined` if there is none. */
  get oldestSentAt(): number | undefined {
    return this.#inFlight[0]?.sentAt;
  }

  sent(deploymentId: string, deviceSeq: number, sentAt: number): void {
    this.#inFlight.push({ deploymentId, deviceSeq, sentAt });
    this.#sentUpTo.set(deploymentId, deviceSeq);
  }

  /**
   * Handles an acknowledgement of everything up to `deviceSeq`. Returns false if it names an event that this session
   * did not send or that is already acknowledged: accepting it would drop events that were not received.
   */
  acknowledge(deploymentId: string, deviceSeq: number): boolean {
    const upTo = this.#sentUpTo.get(deploymentId);
    if (upTo === undefined || deviceSeq > upTo) return false;
    if (deviceSeq === upTo) this.#sentUpTo.delete(deploymentId);
    this.#inFlight = this.#inFlight.filter(
      (event) => event.deploymentId !== deploymentId || event.deviceSeq > deviceSeq,
    );
    return true;
  }

  /**
   * Stops waiting for events sent up to `sentAt`: they have arrived, but are not acknowledged. Otherwise one deployment
   * that is never acknowledged would block all others. A later acknowledgement is still accepted.
   */
  stopWaiting(sentAt: number): void {
    this.#inFlight = this.#inFlight.filter((event) => event.sentAt > sentAt);
  }
}
