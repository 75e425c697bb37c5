import type { Clock } from "./clock.ts";
import type { ServiceManager } from "./service-manager.ts";

// Two would be enough; one more for a device that is busy.
const CALLS_PER_PERIOD = 3;

/**
 * Feeds the service manager's watchdog until disposed. It monitors the event loop only: a failing uplink, engine or
 * disk is no reason to restart the daemon.
 */
export function feedWatchdog(manager: ServiceManager, clock: Clock): Disposable {
  const { watchdogMs } = manager;
  if (watchdogMs === undefined) return { [Symbol.dispose]() {} };
  let timer: Disposable;
  const feed = (): void => {
    manager.alive();
    timer = clock.timer(watchdogMs / CALLS_PER_PERIOD, feed);
  };
  feed();
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
