export type LinkState = "up" | "down";

/** Largest message that a link carries. */
export const MAX_MESSAGE_BYTES = 320 * 1024;

/**
 * Carries messages to the other instances, at most once: a message that is sent may be lost. A sender does not receive its
 * own messages. The tokens of a subject, between dots, are letters, digits, `_` and `-`.
 */
export interface MessageLink {
  readonly state: LinkState;
  /** Returns false if the message is dropped, because the link is down or does not keep up. */
  send(subject: string, message: Uint8Array): boolean;
  /** Receives the messages to a subject, until disposed, and over reconnects. The listener must not throw. */
  listen(subject: string, listener: (message: Uint8Array) => void): Disposable;
  /** Calls `listener` after each change of `state`, until disposed. The listener must not throw. */
  onChange(listener: (state: LinkState) => void): Disposable;
}

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

/** For instances that share a store without anything that carries messages between them. */
export const NO_LINK: MessageLink = {
  state: "down",
  send: () => false,
  listen: () => NOTHING,
  onChange: () => NOTHING,
};
