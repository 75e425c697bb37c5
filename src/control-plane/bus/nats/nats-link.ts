import type { NatsConnectionImpl, Subscription } from "@nats-io/transport-node";
import { fullJitter } from "../../../lib/backoff.ts";
import { type Clock, pause } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { onAbort } from "../../../lib/abort.ts";
import { Listeners } from "../listeners.ts";
import { type LinkState, MAX_MESSAGE_BYTES, type MessageLink } from "../message-link.ts";
import { cutConnection, openConnection } from "./connect.ts";
import { findOptionsError, type NatsOptions } from "./options.ts";
import { OutageLog } from "./outage-log.ts";
import { OutboundWindow } from "./outbound-window.ts";

const RECONNECT = { baseMs: 250, maxMs: 5_000 };
/** Added to each delay, so that a server that refuses is not asked in a loop. */
const MIN_RECONNECT_DELAY_MS = 50;
/** A connection of this duration was a good one: the next delay is a short one again. */
const MIN_STABLE_MS = 10_000;

const SUBJECT = /^[\w-]+(?:\.[\w-]+)*$/;

export interface NatsLinkOptions {
  readonly nats: NatsOptions;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Connected {
  readonly connection: NatsConnectionImpl;
  readonly window: OutboundWindow;
  readonly subscriptions: Map<string, Subscription>;
  /** Ends the connection, with the reason. */
  readonly fail: (reason: string) => void;
}

/** A link over core NATS. It connects by itself, again and again, until it is disposed. */
export class NatsLink implements MessageLink, AsyncDisposable {
  readonly #options: NatsLinkOptions;
  readonly #listeners = new Listeners<[message: Uint8Array]>();
  readonly #subjects = new Set<string>();
  readonly #changes = new Listeners<[state: LinkState]>();
  readonly #stopping = new AbortController();
  readonly #log: OutageLog;
  readonly #running: Promise<void>;
  #connected: Connected | undefined;
  #state: LinkState = "down";

  /** Begins to connect. Throws if the options are not valid. */
  constructor(options: NatsLinkOptions) {
    const error = findOptionsError(options.nats);
    if (error !== undefined) throw new Error(error);
    this.#options = options;
    this.#log = new OutageLog(options.logger, options.nats.urls);
    this.#running = this.#run();
  }

  get state(): LinkState {
    return this.#state;
  }

  send(subject: string, message: Uint8Array): boolean {
    const full = this.#full(subject);
    if (message.length > MAX_MESSAGE_BYTES) throw new Error(`a message of ${message.length} bytes is too large`);
    const connected = this.#state === "up" ? this.#connected : undefined;
    if (!connected) return false;
    if (!connected.window.take(full.length + message.length)) {
      this.#log.countDropped();
      return false;
    }
    this.#log.keepsUp();
    try {
      connected.connection.publish(full, message);
    } catch (error) {
      // It has been closed, and this process will know with the next event.
      connected.fail(describe(error));
      return false;
    }
    connected.window.confirmSoon();
    return true;
  }

  listen(subject: string, listener: (message: Uint8Array) => void): Disposable {
    const full = this.#full(subject);
    return this.#listeners.add(full, listener, () => {
      this.#subjects.add(full);
      if (this.#connected) this.#subscribe(this.#connected, full);
      return {
        [Symbol.dispose]: () => {
          this.#subjects.delete(full);
          this.#connected?.subscriptions.get(full)?.unsubscribe();
          this.#connected?.subscriptions.delete(full);
        },
      };
    });
  }

  onChange(listener: (state: LinkState) => void): Disposable {
    return this.#changes.add("", listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#connected?.fail("stopped");
    await this.#running;
  }

  #full(subject: string): string {
    if (!SUBJECT.test(subject)) throw new Error(`${subject} is not a valid subject`);
    return `${this.#options.nats.prefix}.${subject}`;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    const urls = shuffled(this.#options.nats.urls);
    for (let attempt = 0, next = 0; !signal.aborted; attempt++, next++) {
      const start = clock.monotonic();
      const reason = await this.#serveOnce(urls[next % urls.length] ?? "").catch(describe);
      if (signal.aborted) break;
      this.#log.down(reason);
      this.#setState("down");
      if (clock.monotonic() - start >= MIN_STABLE_MS) attempt = 0;
      const delayMs = MIN_RECONNECT_DELAY_MS + fullJitter(attempt, RECONNECT, Math.random());
      await pause(clock, delayMs, signal);
    }
    this.#setState("down");
  }

  /** Connects and serves until the connection ends. Returns the reason. */
  async #serveOnce(url: string): Promise<string> {
    const connection = await this.#open(url);
    const ended = Promise.withResolvers<string>();
    const fail = ended.resolve;
    const confirm = (): Promise<void> => connection.flush();
    const connected = { connection, fail, subscriptions: new Map(), window: new OutboundWindow(confirm) };
    this.#connected = connected;
    void connection.closed().then((error) => fail(error ? describe(error) : "the server closed the connection"));
    void this.#watch(connected);
    try {
      if (this.#stopping.signal.aborted) return "stopped";
      for (const subject of this.#subjects) this.#subscribe(connected, subject);
      // The server has refused what it does not permit before it confirms.
      const refused = await Promise.race([connection.flush().then(() => undefined), ended.promise]);
      if (refused !== undefined) return refused;
      this.#log.up(connection.getServer());
      this.#setState("up");
      return await ended.promise;
    } finally {
      this.#connected = undefined;
      cutConnection(connection);
    }
  }

  /** Rejects at once when the link is stopped: connecting may take seconds, and cannot be ended. */
  async #open(url: string): Promise<NatsConnectionImpl> {
    const { signal } = this.#stopping;
    const opening = openConnection(url, this.#options.nats);
    const stopped = Promise.withResolvers<never>();
    using _abort = onAbort(signal, () => {
      opening.then(cutConnection, () => undefined);
      stopped.reject(signal.reason);
    });
    return await Promise.race([opening, stopped.promise]);
  }

  #subscribe({ connection, subscriptions, fail }: Connected, subject: string): void {
    const subscription = connection.subscribe(subject, {
      // An error here would end the library's reading.
      callback: (error, message) => {
        if (error) return fail(describe(error));
        try {
          this.#listeners.notify(subject, message.data);
        } catch (thrown) {
          this.#options.logger.error({ err: thrown, subject }, "cannot handle a message of the bus");
        }
      },
    });
    subscriptions.set(subject, subscription);
  }

  /** Ends the connection when the server does not answer, or refuses what is needed. */
  async #watch({ connection, fail }: Connected): Promise<void> {
    for await (const status of connection.status()) {
      if (status.type === "staleConnection") fail("the server does not answer");
      if (status.type === "error") fail(describe(status.error));
    }
  }

  #setState(state: LinkState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#changes.notify("", state);
  }
}

/** Spreads the instances over the servers. */
function shuffled(urls: readonly string[]): readonly string[] {
  const start = Math.floor(Math.random() * urls.length);
  return [...urls.slice(start), ...urls.slice(0, start)];
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error && cause.message !== "" ? `${error.message}: ${cause.message}` : error.message;
}
