import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { SteadyClock, type TimeMarkStore } from "../../lib/steady-clock.ts";
import type { TimeMark } from "../../lib/steady-time.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import type { ServiceClock } from "./service-clock.ts";
import { SharedClock } from "./shared-clock.ts";

export interface ServerClockOptions {
  readonly store: Pick<Store, "isShared" | "instances" | "times">;
  readonly instanceId: string;
  /** Of this machine. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The clock of a server. Its records and deletions follow no jump until it is believed, its deadlines follow none. */
export class ServerClock extends SteadyClock implements ServiceClock {
  readonly #shared: SharedClock | undefined;
  /** Add it to the monotonic time. A deadline on record is measured anew when the next process starts. */
  #serviceOffsetMs = 0;

  /** @param shared the database's clock, if other instances use the database: all of them take every time from it */
  constructor(shared: SharedClock | undefined, { clock, logger }: Pick<ServerClockOptions, "clock" | "logger">) {
    super({ clock: shared ?? clock, logger, ...(shared && { elapsed: () => shared.serviceNow() }) });
    this.#shared = shared;
  }

  override resume(store: TimeMarkStore): void {
    super.resume(store);
    this.#serviceOffsetMs = this.now() - this.monotonic();
  }

  serviceNow(): number {
    return this.#shared?.serviceNow() ?? this.monotonic() + this.#serviceOffsetMs;
  }

  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#shared?.[Symbol.dispose]();
  }
}

/** Opens the clock of a server, and takes up the time that the last run has left in the store. */
export async function openClock(options: ServerClockOptions): Promise<ServerClock> {
  const { store, instanceId, logger } = options;
  const { instances, times, isShared } = store;
  const shared = isShared ? await SharedClock.open({ instances, instanceId, clock: options.clock, logger }) : undefined;
  const clock = new ServerClock(shared, options);
  const save = (mark: TimeMark): Promise<void> =>
    times.saveMark(mark).catch((error: unknown) => logger.debug({ err: error }, "cannot store the time"));
  clock.resume({ mark: await times.readMark(), save });
  const setBack = async (): Promise<void> => {
    try {
      const count = await times.setBack(clock.now());
      if (count > 0) logger.warn({ count }, "what was put off by a clock that was ahead is due now");
    } catch (error) {
      logStoreError(logger, error, {}, "what was put off by a clock that was ahead stays so until the next start");
    }
  };
  clock.onSetBack = () => void setBack();
  await setBack();
  return clock;
}
