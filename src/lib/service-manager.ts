import type { Clock } from "./clock.ts";
import { sanitizeLine } from "./terminal/sanitize.ts";
import type { DatagramSender } from "./unix-datagram.ts";

/** The service manager that started the daemon, such as systemd. Methods return at once and never throw. */
export interface ServiceManager extends Disposable {
  /** Milliseconds within which `alive` must be called again; `undefined` without a watchdog. */
  readonly watchdogMs: number | undefined;
  /** Reports that the daemon is ready, after the start or after `reloading`. */
  ready(): void;
  /** Reports that the configuration is being read again. */
  reloading(): void;
  stopping(): void;
  alive(): void;
  /** Sets the one-line status that `systemctl status` shows. */
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
  /** Called only if there is a service manager. */
  readonly openSender: () => DatagramSender | undefined;
}

/** Returns the service manager in the environment (systemd, for `Type=notify`), or one that does nothing. */
export function findServiceManager({ environment, pid, clock, openSender }: ServiceManagerOptions): ServiceManager {
  const path = environment["NOTIFY_SOCKET"];
  const sender = path ? openSender() : undefined;
  if (!path || !sender) return NO_SERVICE_MANAGER;
  const isForUs = [undefined, "", String(pid)].includes(environment["WATCHDOG_PID"]);
  const watchdogMs = isForUs ? Number(environment["WATCHDOG_USEC"]) / 1000 : 0;
  return new Systemd(path, sender, clock, watchdogMs > 0 ? watchdogMs : undefined);
}

const RETRY_MS = 1_000;

/** Speaks systemd's protocol: datagrams of `NAME=value` lines. Sends a datagram again if the socket was full. */
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
    // systemd uses the time to tell several reloads apart.
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
