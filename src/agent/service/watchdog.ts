import type { Clock } from "../../lib/clock.ts";
import type { ServiceManager } from "./service-manager.ts";

// Twice within the time allowed would do; a device that is busy may be late.
const CALLS_PER_PERIOD = 3;

/**
 * Tells the service manager again and again that the daemon is alive, until disposed. It shows that the one loop
 * everything in the daemon runs on goes round, and nothing else: an uplink, an engine or a disk that fails is no reason
 * to start the daemon anew.
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
