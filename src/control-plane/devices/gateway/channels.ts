import { randomBytes } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { MessageLink } from "../../bus/message-link.ts";
import { Channel, type ChannelEffect } from "../../core/gateway/channel.ts";
import {
  type AddressedMessage,
  type ChannelMessage,
  decodeMessage,
  encodeMessage,
  isInstanceId,
} from "../../core/gateway/message.ts";

/** Channels of an instance at a time. */
const MAX_CHANNELS = 10_000;
/** How long a closed channel is known, so that a late message does not open it again. */
const CLOSED_MS = 60_000;
const TICK_MS = 1_000;
const CHANNEL_ID_BYTES = 16;
const RESET: ChannelMessage = {
  kind: "reset",
  number: 0,
  taken: 0,
  isBodyEnd: false,
  isChannelEnd: false,
  bytes: new Uint8Array(),
};

/** Receives what the other end of a channel sends. */
export interface ChannelReader {
  /** Takes a body. The next one is given when the promise resolves. */
  onBody(body: Uint8Array): void | Promise<void>;
  /** The channel is over, with the last body of the other end, or without one if it failed. Called at most once. */
  onEnd(body: Uint8Array | undefined): void;
}

/** One end of a channel. After `onEnd` its methods do nothing. Disposing it ends the channel at once. */
export interface OpenChannel extends Disposable {
  send(body: Uint8Array): void;
  /** Ends the channel with a last body. `onEnd` is not called. */
  end(body: Uint8Array): void;
}

interface Entry {
  readonly channel: Channel;
  readonly peer: string;
  reader: ChannelReader | undefined;
}

export interface GatewayChannelsOptions {
  readonly link: MessageLink;
  readonly instanceId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Another instance has opened a channel. Its first body follows. */
  readonly accept: (channel: OpenChannel) => ChannelReader;
}

/** The channels of this instance with others. Between bodies the only cost is a timer while there are any. */
export class GatewayChannels implements Disposable {
  readonly #options: GatewayChannelsOptions;
  readonly #open = new Map<string, Entry>();
  /** When channels were closed, oldest first. */
  readonly #closed = new Map<string, number>();
  readonly #listening = new DisposableStack();
  #timer: Disposable | undefined;

  constructor(options: GatewayChannelsOptions) {
    this.#options = options;
    const { link, instanceId } = options;
    if (!isInstanceId(instanceId)) throw new Error(`${instanceId} is not an id of an instance`);
    this.#listening.use(
      link.listen(subjectOf(instanceId), (bytes) => {
        const message = decodeMessage(bytes);
        if (message) this.#receive(message);
      }),
    );
    // Messages are lost meanwhile.
    this.#listening.use(link.onChange((state) => state === "down" && this.#failAll()));
  }

  /** Number of open channels. */
  get size(): number {
    return this.#open.size;
  }

  /** Opens a channel to an instance with a first body. A failure is given to `reader.onEnd`. */
  open(instanceId: string, body: Uint8Array, reader: ChannelReader): OpenChannel {
    const id = randomBytes(CHANNEL_ID_BYTES).toString("hex");
    const channel = this.#add(id, instanceId);
    const entry = this.#open.get(id);
    if (entry) entry.reader = reader;
    // Later, so that the caller has the channel before its end.
    if (this.#options.link.state === "down" || this.#open.size > MAX_CHANNELS) setImmediate(() => this.#failed(id));
    else channel.send(body);
    return channel;
  }

  [Symbol.dispose](): void {
    this.#listening.dispose();
    this.#failAll();
    this.#timer?.[Symbol.dispose]();
    this.#closed.clear();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #add(id: string, peer: string): OpenChannel {
    const entry: Entry = { channel: new Channel(this.#now), peer, reader: undefined };
    this.#open.set(id, entry);
    this.#armTimer();
    return {
      send: (body) => this.#apply(id, entry, entry.channel.send(body, false, this.#now)),
      end: (body) => {
        entry.reader = undefined;
        this.#apply(id, entry, entry.channel.send(body, true, this.#now));
      },
      [Symbol.dispose]: () => {
        entry.reader = undefined;
        this.#apply(id, entry, entry.channel.reset(this.#now));
        this.#remove(id);
      },
    };
  }

  #receive(message: AddressedMessage): void {
    const { channel: id, sender, kind, number } = message;
    let entry = this.#open.get(id);
    if (entry && entry.peer !== sender) return;
    if (!entry) {
      const isOpening = kind === "part" && number === 0 && !this.#closed.has(id);
      if (!isOpening || this.#open.size >= MAX_CHANNELS) return this.#refuse(message);
      const channel = this.#add(id, sender);
      entry = this.#open.get(id);
      if (!entry) return;
      entry.reader = this.#options.accept(channel);
    }
    this.#apply(id, entry, entry.channel.receive(message, this.#now));
  }

  /** The other end would wait for what never comes. What is late after the end of a channel needs no response. */
  #refuse({ channel, sender, kind }: AddressedMessage): void {
    if (kind !== "alive" && (kind !== "part" || this.#closed.has(channel))) return;
    this.#send(channel, sender, RESET);
  }

  #apply(id: string, entry: Entry, effects: readonly ChannelEffect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case "send":
          // Parts are not sent again: without this one the channel cannot go on.
          if (!this.#send(id, entry.peer, effect.message) && effect.message.kind === "part") return this.#failed(id);
          break;
        case "deliver":
          this.#deliver(id, entry, effect.body);
          break;
        case "ended":
          this.#remove(id);
          this.#endReader(entry, effect.body);
          break;
        case "finished":
          this.#remove(id);
          break;
        case "failed":
          this.#failed(id);
      }
    }
  }

  #deliver(id: string, entry: Entry, body: Uint8Array): void {
    let taken: void | Promise<void>;
    try {
      taken = entry.reader?.onBody(body);
    } catch (error) {
      return this.#readerFailed(id, entry, error);
    }
    // A reader that needs no time gets the next body in the same turn.
    if (taken === undefined) this.#taken(id, entry);
    else void this.#awaitTaken(id, entry, taken);
  }

  async #awaitTaken(id: string, entry: Entry, taken: Promise<void>): Promise<void> {
    try {
      await taken;
    } catch (error) {
      return this.#readerFailed(id, entry, error);
    }
    this.#taken(id, entry);
  }

  /** Tells the other end, so that it does not go on without a reader. */
  #readerFailed(id: string, entry: Entry, error: unknown): void {
    this.#options.logger.error({ err: error, instance: entry.peer }, "cannot take what another instance has sent");
    this.#apply(id, entry, entry.channel.reset(this.#now));
    this.#failed(id);
  }

  #taken(id: string, entry: Entry): void {
    this.#apply(id, entry, entry.channel.taken(this.#now));
  }

  #failed(id: string): void {
    const entry = this.#open.get(id);
    if (!entry) return;
    this.#remove(id);
    entry.channel.reset(this.#now);
    this.#endReader(entry, undefined);
  }

  #failAll(): void {
    for (const [id, entry] of this.#open) {
      this.#apply(id, entry, entry.channel.reset(this.#now));
      this.#failed(id);
    }
  }

  #endReader(entry: Entry, body: Uint8Array | undefined): void {
    const { reader } = entry;
    entry.reader = undefined;
    reader?.onEnd(body);
  }

  #send(channel: string, instanceId: string, message: ChannelMessage): boolean {
    const { link, instanceId: sender } = this.#options;
    return link.send(subjectOf(instanceId), encodeMessage({ ...message, channel, sender }));
  }

  #remove(id: string): void {
    if (!this.#open.delete(id)) return;
    this.#closed.set(id, this.#now);
    if (this.#closed.size > MAX_CHANNELS) for (const [oldest] of this.#closed) return void this.#closed.delete(oldest);
  }

  #armTimer(): void {
    this.#timer ??= this.#options.clock.timer(TICK_MS, () => {
      this.#timer = undefined;
      const now = this.#now;
      for (const [id, at] of this.#closed) if (now - at >= CLOSED_MS) this.#closed.delete(id);
      for (const [id, entry] of this.#open) this.#apply(id, entry, entry.channel.tick(now));
      if (this.#open.size > 0 || this.#closed.size > 0) this.#armTimer();
    });
  }
}

const subjectOf = (instanceId: string): string => `gw.${instanceId}`;
