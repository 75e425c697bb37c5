import { join } from "node:path";
import { DatagramReceiver } from "../../support/datagram-receiver.ts";

const READ_EVERY_MS = 100;

/** Stands for systemd: receives what the agent sends to its watchdog, and ends nothing. */
export interface Watchdog extends Disposable {
  readonly environment: Readonly<Record<string, string>>;
  /** Longest time between two signs of life so far, in milliseconds, to within 0.1 s. */
  longestSilenceMs(): number;
}

/** @param timeoutMs within which the agent must give a sign of life */
export function createWatchdog(folder: string, timeoutMs: number): Watchdog {
  const receiver = new DatagramReceiver(join(folder, "notify.sock"));
  let last: number | undefined;
  let longest = 0;
  const silence = (): number => (last === undefined ? 0 : performance.now() - last);
  const read = (): void => {
    for (let message = receiver.take(); message !== undefined; message = receiver.take()) {
      if (!message.includes("WATCHDOG=1")) continue;
      longest = Math.max(longest, silence());
      last = performance.now();
    }
  };
  const timer = setInterval(read, READ_EVERY_MS);
  return {
    environment: { NOTIFY_SOCKET: receiver.path, WATCHDOG_USEC: String(timeoutMs * 1000) },
    longestSilenceMs: () => Math.max(longest, silence()),
    [Symbol.dispose]() {
      clearInterval(timer);
      receiver[Symbol.dispose]();
    },
  };
}
