import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { SteadyClock } from "../../lib/steady-clock.ts";
import type { TimeMark } from "../../lib/steady-time.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import { localServiceClock, type ServiceClock } from "./service-clock.ts";
import { SharedClock } from "./shared-clock.ts";

export interface ClocksOptions {
  readonly store: Pick<Store, "isShared" | "instances" | "times">;
  readonly instanceId: string;
  /** Of this machine. */
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The clocks of a server. */
export interface Clocks extends Disposable {
  readonly clock: SteadyClock;
  readonly serviceClock: ServiceClock;
}

/**
 * Opens the clock that records and deletions go by, which follows no jump until it is believed, and the one of deadlines. Of
 * instances that share a database, both are the database's, and time passes for all of them alike.
 */
export async function openClocks({ store, instanceId, clock: own, logger }: ClocksOptions): Promise<Clocks> {
  const { instances, times, isShared } = store;
  const shared = isShared ? await SharedClock.open({ instances, instanceId, clock: own, logger }) : undefined;
  const clock = new SteadyClock({
    clock: shared ?? own,
    logger,
    ...(shared && { elapsed: () => shared.serviceNow() }),
  });
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
  return {
    clock,
    serviceClock: shared ?? localServiceClock(clock),
    [Symbol.dispose]() {
      clock[Symbol.dispose]();
      shared?.[Symbol.dispose]();
    },
  };
}
