import { Coalesced } from "../../lib/coalesced.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { CLOSE_CODES } from "../../protocol/frames.ts";
import type { Bus } from "../bus/bus.ts";
import type { SessionStore } from "../store/sessions.ts";
import { logStoreError } from "../store/unavailable.ts";
import type { Session } from "./session.ts";

/** How often it is compared which sessions other instances have replaced, whose message may be lost. */
const COMPARE_INTERVAL_MS = 30_000;

export interface SessionComparisonOptions {
  readonly sessions: Pick<SessionStore, "listHeld">;
  readonly bus: Bus;
  readonly instanceId: string;
  /** Whether there may be other instances. */
  readonly isShared: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the current sessions. */
  readonly current: () => readonly Session[];
}

/** Closes the sessions that other instances have replaced: when they say so, and at intervals, since that may be lost. */
export class SessionComparison implements Disposable {
  readonly #options: SessionComparisonOptions;
  readonly #replacements: Disposable;
  /** However many messages arrive, one comparison is in progress. */
  readonly #comparing = new Coalesced(() => this.#compare());
  #timer: Disposable | undefined;
  #isDisposed = false;

  constructor(options: SessionComparisonOptions) {
    this.#options = options;
    const { bus, instanceId, isShared } = options;
    this.#replacements = bus.subscribe(`session.${instanceId}`, () => void this.#comparing.run());
    if (isShared) this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#replacements[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(): void {
    if (this.#isDisposed) return;
    const { clock } = this.#options;
    this.#timer = clock.timer(COMPARE_INTERVAL_MS, () => void this.#comparing.run().then(() => this.#schedule()));
  }

  async #compare(): Promise<void> {
    try {
      await this.#closeReplacedElsewhere();
    } catch (error) {
      logStoreError(this.#options.logger, error, {}, "cannot read which sessions other instances have replaced");
    }
  }

  async #closeReplacedElsewhere(): Promise<void> {
    const { current, sessions: store, instanceId } = this.#options;
    // Before the store is read, which does not have later sessions.
    const sessions = current();
    const held = await store.listHeld(instanceId);
    const epochs = new Map(held.map(({ assetUuid, epoch }) => [assetUuid, epoch]));
    for (const session of sessions) {
      // A later epoch is that of a connection which is about to become current here.
      if ((epochs.get(session.assetUuid) ?? 0) < session.epoch) closeReplaced(session);
    }
  }
}

export function closeReplaced(session: Session): void {
  session.close(CLOSE_CODES.replaced, "replaced by a newer connection");
}
