import type { ControlStreamFrame } from "../../protocol/link/streams.ts";
import type { SessionStreams, StreamConnection, StreamServer } from "../link/ports.ts";
import type { RemoteAccess } from "../core/policy/remote-access.ts";
import type { DeviceStreams } from "./device-streams.ts";

/** Calls kept until the code of the streams is loaded. The control plane waits for the answer to its first ones. */
const MAX_WAITING_CALLS = 256;

type Load = (connection: StreamConnection, allowed: () => RemoteAccess) => Promise<DeviceStreams>;
type LoadedStreams = SessionStreams & Pick<DeviceStreams, "recheckPolicy">;

/** Serves streams by code that is loaded with the first of them: most devices never need it. */
export class LazyStreamServer implements StreamServer {
  readonly #load: Load;
  readonly #onLoadError: (error: unknown) => void;
  readonly #sessions = new Set<LazySessionStreams>();
  #allowed: RemoteAccess;

  /** @param onLoadError called if the code cannot be loaded; the streams of that session are refused */
  constructor(allowed: RemoteAccess, load: Load, onLoadError: (error: unknown) => void) {
    this.#allowed = allowed;
    this.#load = load;
    this.#onLoadError = onLoadError;
  }

  begin(connection: StreamConnection): SessionStreams {
    const loading = this.#load(connection, () => this.#allowed).catch((error: unknown) => {
      this.#onLoadError(error);
      return refuseAll(connection);
    });
    const session = new LazySessionStreams(loading, () => this.#sessions.delete(session));
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
  #streams: LoadedStreams | undefined;
  #waiting: ((streams: LoadedStreams) => void)[] = [];
  #isDisposed = false;

  constructor(loading: Promise<LoadedStreams>, onDisposed: () => void) {
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

  #start(streams: LoadedStreams): void {
    if (this.#isDisposed) return streams[Symbol.dispose]();
    this.#streams = streams;
    for (const call of this.#waiting) call(streams);
    this.#waiting = [];
  }

  #wait(call: (streams: LoadedStreams) => void): boolean {
    if (this.#waiting.length >= MAX_WAITING_CALLS) return false;
    this.#waiting.push(call);
    return true;
  }
}

/** The program's files may have been replaced while it runs. */
function refuseAll(connection: StreamConnection): LoadedStreams {
  const message = "The agent cannot serve streams: it was probably updated and has to be restarted.";
  return {
    onFrame({ type, stream_id }) {
      if (type === "stream_open") connection.sendFrame({ type: "stream_close", stream_id, code: "Internal", message });
      return true;
    },
    onData: () => true,
    onSent: () => undefined,
    recheckPolicy: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
}
