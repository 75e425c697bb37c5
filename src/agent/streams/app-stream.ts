import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { StreamChannelId } from "../../protocol/link/stream-data.ts";
import type { StreamEnd, StreamKind, StreamParams } from "../../protocol/link/streams.ts";
import type { AppRecord } from "../core/records.ts";
import type { RemoteAccess } from "../core/policy/remote-access.ts";
import type { ContainerAccess } from "../engine/container-access.ts";
import type { Engine } from "../engine/engine.ts";

/** Limits of all streams, from the configuration and the policy. */
export interface StreamLimits {
  /** A stream over which nothing was sent for this long is closed, in milliseconds. */
  readonly idleMs: number;
  readonly maxStreams: number;
  /** What the policy allows now. */
  readonly allowed: () => RemoteAccess;
}

/** How much streams use of the link. */
export interface LinkShare {
  /** For how long to wait before the next data, in milliseconds, after these bytes. */
  readonly pauseAfter: (bytes: number) => number;
  /** Whether something more important is under way on the link, so that streams should use little of it. */
  readonly mustYield: () => boolean;
  /** Counts the bytes of a message with data of an app. */
  readonly traffic: (direction: "sent" | "received", bytes: number, app: string) => void;
}

export interface StreamServices {
  readonly engine: Engine;
  readonly access: ContainerAccess;
  readonly store: { apps(): readonly AppRecord[] };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: StreamLimits;
  readonly endings: Endings;
  readonly link: LinkShare;
}

/** A stream as the code that serves it sees it. */
export interface AppStream<K extends StreamKind = StreamKind> {
  readonly kind: K;
  readonly app: string;
  readonly params: StreamParams<K>;
  /** Aborts when the stream is closed, with the reason. */
  readonly signal: AbortSignal;
  /** Tells the client that the stream is open. Data can be read and written from then on. */
  opened(facts?: { readonly is_directory: boolean }): void;
  /** Resolves once the bytes are handed to the system. Rejects with the signal's reason when the stream is closed. */
  write(channel: StreamChannelId, bytes: Uint8Array): Promise<void>;
  /** The client's data, until it sends no more. Throws the signal's reason when the stream is closed. */
  input(): AsyncGenerator<Uint8Array, void>;
  /** Calls `listener` when the client's terminal has another size. */
  onResize(listener: (columns: number, rows: number) => void): void;
}

/** Serves a stream to its end. Rejects with `EdgeError`. */
export type StreamHandler<K extends StreamKind> = (
  stream: AppStream<K>,
  services: StreamServices,
) => Promise<Pick<StreamEnd, "exit_code"> | undefined>;

export type StreamHandlers = { readonly [K in StreamKind]: StreamHandler<K> };

/**
 * What goes on after its stream is over: commands that are being killed. Each counts as a stream, or commands could be
 * started faster than they are killed. The agent waits for them when it stops.
 */
export class Endings {
  readonly #running = new Set<Promise<void>>();

  get size(): number {
    return this.#running.size;
  }

  /** @param work must not reject */
  add(work: Promise<void>): void {
    this.#running.add(work);
    void work.then(() => this.#running.delete(work));
  }

  /** Resolves when nothing goes on. */
  async done(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
