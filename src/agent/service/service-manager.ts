import type { Clock } from "../../lib/clock.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { DatagramSender } from "../../lib/unix-datagram.ts";

/** Whoever started the daemon and watches over it: systemd, or nobody. Nothing here throws or waits. */
export interface ServiceManager extends Disposable {
  /** Milliseconds within which `alive` must be called again, where somebody watches. */
  readonly watchdogMs: number | undefined;
  /** The daemon takes commands, for the first time or after `reloading`. */
  ready(): void;
  /** The configuration is being read again. */
  reloading(): void;
  stopping(): void;
  alive(): void;
  /** What the daemon is doing, in one line for people. */
  status(text: string): void;
}

const NO_SERVICE_MANAGER: ServiceManager = {
  watchdogMs: undefined,
  ready() {},
  reloading() {},
  stopping() {},
  alive() {},
  status() {},
  [Symbol.dispose]() {},
};

export interface ServiceManagerOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  /** Called only where somebody waits to hear from the daemon. */
  readonly openSender: () => DatagramSender | undefined;
}

/** The one the environment names, as systemd does for services of `Type=notify`; otherwise one that hears nothing. */
export function findServiceManager({ environment, pid, clock, openSender }: ServiceManagerOptions): ServiceManager {
  const path = environment["NOTIFY_SOCKET"];
  const sender = path ? openSender() : undefined;
  if (!path || !sender) return NO_SERVICE_MANAGER;
  const isForUs = [undefined, "", String(pid)].includes(environment["WATCHDOG_PID"]);
  const watchdogMs = isForUs ? Number(environment["WATCHDOG_USEC"]) / 1000 : 0;
  return new Systemd(path, sender, clock, watchdogMs > 0 ? watchdogMs : undefined);
}

const RETRY_MS = 1_000;

/** systemd's protocol: datagrams of `NAME=value` lines. What it could not take at once is said again. */
class Systemd implements ServiceManager {
  readonly watchdogMs: number | undefined;
  readonly #path: string;
  readonly #sender: DatagramSender;
  readonly #clock: Clock;
  readonly #unsent = new Map<string, string>();
  #retry: Disposable | undefined;

  constructor(path: string, sender: DatagramSender, clock: Clock, watchdogMs: number | undefined) {
    this.#path = path;
    this.#sender = sender;
    this.#clock = clock;
    this.watchdogMs = watchdogMs;
  }

  ready(): void {
    this.#unsent.delete("RELOADING");
    this.#notify({ READY: "1" });
  }

  reloading(): void {
    this.#unsent.delete("READY");
    // systemd tells by the time which of several reloads is meant.
    this.#notify({ RELOADING: "1", MONOTONIC_USEC: String(Math.round(this.#clock.monotonic() * 1000)) });
  }

  stopping(): void {
    this.#notify({ STOPPING: "1" });
  }

  alive(): void {
    this.#notify({ WATCHDOG: "1" });
  }

  status(text: string): void {
    this.#notify({ STATUS: sanitizeLine(text.replaceAll(/\s+/g, " ")) });
  }

  [Symbol.dispose](): void {
    this.#retry?.[Symbol.dispose]();
    this.#sender[Symbol.dispose]();
  }

  #notify(fields: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(fields)) this.#unsent.set(name, value);
    this.#retry?.[Symbol.dispose]();
    const lines = [...this.#unsent].map(([name, value]) => `${name}=${value}`);
    if (this.#sender.send(this.#path, Buffer.from(lines.join("\n")))) this.#unsent.clear();
    else this.#retry = this.#clock.timer(RETRY_MS, () => this.#notify({}));
  }
}
