import { Semaphore } from "../../lib/semaphore.ts";

/**
 * How many layers of an image are fetched at once. Two as long as all goes well: while one registry's answer is on its
 * way, the other's bytes fill the link. One after the first trouble: two connections lose twice as much in flight when a
 * link is cut, and a layer that is whole early can be unpacked meanwhile.
 */
export class FetchConcurrency {
  readonly #two = new Semaphore(2);
  readonly #one = new Semaphore(1);
  #isReduced = false;

  /** Resolves to a lane to dispose of. Rejects with the signal's reason when aborted while waiting. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    using owned = new DisposableStack();
    owned.use(await this.#two.acquire(signal));
    if (this.#isReduced) owned.use(await this.#one.acquire(signal));
    return owned.move();
  }

  /** From now on one at a time. What goes on is left to end. */
  reduceToOne(): void {
    this.#isReduced = true;
  }
}
