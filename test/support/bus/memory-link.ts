import { Listeners } from "../../../src/control-plane/bus/listeners.ts";
import type { LinkState, MessageLink } from "../../../src/control-plane/bus/message-link.ts";

/** Links in this process. Messages arrive in a later turn of the event loop. */
export class MemoryNetwork {
  readonly #links = new Set<MemoryLink>();

  join(): MemoryLink {
    const link = new MemoryLink((subject, message) => {
      for (const other of this.#links) if (other !== link) other.receive(subject, message);
    });
    this.#links.add(link);
    return link;
  }
}

export class MemoryLink implements MessageLink {
  readonly #send: (subject: string, message: Uint8Array) => void;
  readonly #listeners = new Listeners<[message: Uint8Array]>();
  readonly #changes = new Listeners<[state: LinkState]>();
  #state: LinkState = "up";

  constructor(send: (subject: string, message: Uint8Array) => void) {
    this.#send = send;
  }

  get state(): LinkState {
    return this.#state;
  }

  set state(state: LinkState) {
    if (this.#state === state) return;
    this.#state = state;
    this.#changes.notify("", state);
  }

  send(subject: string, message: Uint8Array): boolean {
    if (this.#state === "down") return false;
    // Copied, as a network does: the sender may use its memory again.
    const copy = Uint8Array.from(message);
    setImmediate(() => this.#send(subject, copy));
    return true;
  }

  /** A message of another link. */
  receive(subject: string, message: Uint8Array): void {
    if (this.#state === "up") this.#listeners.notify(subject, message);
  }

  listen(subject: string, listener: (message: Uint8Array) => void): Disposable {
    return this.#listeners.add(subject, listener);
  }

  onChange(listener: (state: LinkState) => void): Disposable {
    return this.#changes.add("", listener);
  }
}
