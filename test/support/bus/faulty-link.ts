import type { LinkState, MessageLink } from "../../../src/control-plane/bus/message-link.ts";

/** What happens to a message: how many times it arrives. */
export type Fault = "lost" | "once" | "twice";

/** A link that loses and repeats messages that are sent, as `decide` says. */
export class FaultyLink implements MessageLink {
  readonly #link: MessageLink;
  readonly #decide: () => Fault;

  constructor(link: MessageLink, decide: () => Fault) {
    this.#link = link;
    this.#decide = decide;
  }

  get state(): LinkState {
    return this.#link.state;
  }

  send(subject: string, message: Uint8Array): boolean {
    const fault = this.#decide();
    if (fault === "lost") return true;
    if (fault === "twice") this.#link.send(subject, message);
    return this.#link.send(subject, message);
  }

  listen(subject: string, listener: (message: Uint8Array) => void): Disposable {
    return this.#link.listen(subject, listener);
  }

  onChange(listener: (state: LinkState) => void): Disposable {
    return this.#link.onChange(listener);
  }
}
