import type { ControlStreamFrame } from "../../protocol/streams.ts";
import type { SessionStreams, StreamConnection, StreamServer } from "../link/ports.ts";
import type { RemoteAccess } from "../core/policy/remote-access.ts";
import type { DeviceStreams } from "./device-streams.ts";

/** Calls kept until the code of the streams is loaded. The control plane waits for the answer to its first ones. */
const MAX_WAITING_CALLS = 256;

/** Serves streams by code that is loaded with the first of them: most devices never need it. */
export class LazyStreamServer implements StreamServer {
  readonly #load: (connection: StreamConnection, allowed: () => RemoteAccess) => Promise<DeviceStreams>;
  readonly #sessions = new Set<LazySessionStreams>();
  #allowed: RemoteAccess;

  constructor(
    allowed: RemoteAccess,
    load: (connection: StreamConnection, allowed: () => RemoteAccess) => Promise<DeviceStreams>,
  ) {
    this.#allowed = allowed;
    this.#load = load;
  }

  begin(connection: StreamConnection): SessionStreams {
    const session = new LazySessionStreams(
      this.#load(connection, () => this.#allowed),
      () => this.#sessions.delete(session),
    );
    this.#sessions.add(session);
    return session;
  }

  /** Applies another policy: closes the streams it forbids. */
  allow(allowed: RemoteAccess): void {
    this.#allowed = allowed;
    for (const session of this.#sessions) session.recheckPolicy();
  }
}

class LazySessionStreams implements SessionStreams {
  readonly #onDisposed: () => void;
  #streams: DeviceStreams | undefined;
  #waiting: ((streams: DeviceStreams) => void)[] = [];
  #isDisposed = false;

  constructor(loading: Promise<DeviceStreams>, onDisposed: () => void) {
    this.#onDisposed = onDisposed;
    void loading.then((streams) => this.#start(streams));
  }

  onFrame(frame: ControlStreamFrame): boolean {
    return this.#streams ? this.#streams.onFrame(frame) : this.#wait((streams) => void streams.onFrame(frame));
  }

  onData(message: Uint8Array): boolean {
    return this.#streams ? this.#streams.onData(message) : this.#wait((streams) => void streams.onData(message));
  }

  onSent(): void {
    this.#streams?.onSent();
  }

  recheckPolicy(): void {
    this.#streams?.recheckPolicy();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#onDisposed();
    this.#streams?.[Symbol.dispose]();
  }

  #start(streams: DeviceStreams): void {
    if (this.#isDisposed) return streams[Symbol.dispose]();
    this.#streams = streams;
    for (const call of this.#waiting) call(streams);
    this.#waiting = [];
  }

  #wait(call: (streams: DeviceStreams) => void): boolean {
    if (this.#waiting.length >= MAX_WAITING_CALLS) return false;
    this.#waiting.push(call);
    return true;
  }
}
