import { DrivenClock } from "./driven-clock.ts";
import { FakeClock } from "./fake-clock.ts";

/**
 * A clock that runs faster than the machine's, for tests of long timeouts on real sockets between parts of this process. It moves a
 * millisecond at a time, with turns of the event loop in between: while a busy machine gives this process no time none passes
 * here either, and no timeout overtakes what has already arrived.
 */
export class FastClock extends DrivenClock {
  readonly #times: number;

  /** @param times as fast as the machine's clock, at most */
  constructor(times: number) {
    super(new FakeClock(Date.now()));
    this.#times = times;
  }

  protected async advance(clock: FakeClock): Promise<void> {
    await new Promise((resolve) => {
      setTimeout(resolve, 1);
    });
    await clock.advance(this.#times);
  }
}
