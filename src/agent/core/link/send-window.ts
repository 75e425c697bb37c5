interface InFlight {
  readonly deploymentId: string;
  readonly deviceSeq: number;
  /** Monotonic milliseconds. */
  readonly sentAt: number;
}

/**
 * Which events of one session were sent and not acknowledged: how many more may go out, and which acknowledgements
 * are to be believed. Bounded by `size` and by the number of deployments with unacknowledged events.
 */
export class SendWindow {
  readonly #size: number;
  #inFlight: InFlight[] = [];
  readonly #sentUpTo = new Map<string, number>();

  /** @param size how many events may wait for their acknowledgement, at least 1 */
  constructor(size: number) {
    this.#size = size;
  }

  /** How many more events may be sent now. */
  get room(): number {
    return this.#size - this.#inFlight.length;
  }

  /** When the oldest waiting event was sent; `undefined` if none waits. */
  get oldestSentAt(): number | undefined {
    return this.#inFlight[0]?.sentAt;
  }

  sent(deploymentId: string, deviceSeq: number, sentAt: number): void {
    this.#inFlight.push({ deploymentId, deviceSeq, sentAt });
    this.#sentUpTo.set(deploymentId, deviceSeq);
  }

  /**
   * Takes an acknowledgement of everything up to `deviceSeq`. Returns false for one that names what this session never
   * sent or what was acknowledged before: believing it would drop events nobody has.
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
   * Stops waiting for the events sent up to `sentAt`: they have arrived, and the other side keeps quiet about them.
   * Without this one deployment it never acknowledges would hold up all others. They are still acknowledgeable.
   */
  stopWaiting(sentAt: number): void {
    this.#inFlight = this.#inFlight.filter((event) => event.sentAt > sentAt);
  }
}
