import { Coalesced } from "../../../lib/coalesced.ts";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { Repeat } from "../../../lib/repeat.ts";
import { CLOSE_CODES } from "../../../protocol/link/frames.ts";
import type { Bus } from "../../bus/bus.ts";
import type { SessionStore } from "../../store/sessions.ts";
import { logStoreError } from "../../store/unavailable.ts";
import type { HubSession } from "./session.ts";

/** How often the sessions are compared with those on record. */
const COMPARE_INTERVAL_MS = 30_000;

export interface SessionComparisonOptions {
  readonly store: { readonly sessions: Pick<SessionStore, "listHeld">; readonly isShared: boolean };
  readonly bus: Bus;
  readonly instanceId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the current sessions. */
  readonly current: () => readonly HubSession[];
  /** Takes these up again in the store, and closes those that a later one has replaced. */
  readonly reopen: (sessions: readonly HubSession[]) => Promise<void>;
}

/**
 * Looks for sessions that this instance does not hold any more in the store: when another one says so, and at intervals, since
 * that may be lost. They are closed if another instance has replaced them. Others were ended because this instance seemed
 * to be gone: their devices have no reason to leave.
 */
export class SessionComparison implements Disposable {
  readonly #options: SessionComparisonOptions;
  readonly #replacements: Disposable;
  /** However many messages arrive, one comparison is in progress. */
  readonly #comparing = new Coalesced(() => this.#compare());
  readonly #repeat: Repeat | undefined;

  constructor(options: SessionComparisonOptions) {
    this.#options = options;
    const { store, bus, instanceId, clock } = options;
    this.#replacements = bus.subscribe(`session.${instanceId}`, () => void this.#comparing.run());
    if (store.isShared) this.#repeat = new Repeat(clock, COMPARE_INTERVAL_MS, () => this.#comparing.run());
  }

  [Symbol.dispose](): void {
    this.#replacements[Symbol.dispose]();
    this.#repeat?.[Symbol.dispose]();
  }

  async #compare(): Promise<void> {
    try {
      await this.#reopenLost();
    } catch (error) {
      logStoreError(this.#options.logger, error, {}, "cannot compare the sessions with those on record");
    }
  }

  async #reopenLost(): Promise<void> {
    const { current, store, instanceId, reopen } = this.#options;
    // Before the store is read, which does not have later sessions.
    const sessions = current();
    const held = await store.sessions.listHeld(instanceId);
    const epochs = new Map(held.map(({ assetUuid, epoch }) => [assetUuid, epoch]));
    // A later epoch is that of a connection which is about to become current here.
    const lost = sessions.filter(({ assetUuid, epoch }) => (epochs.get(assetUuid) ?? 0) < epoch);
    if (lost.length > 0) await reopen(lost);
  }
}

export function closeReplaced(session: HubSession): void {
  session.close(CLOSE_CODES.replaced, "replaced by a newer connection");
}
