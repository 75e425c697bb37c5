import type { MessageLink } from "./message-link.ts";

const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

/** For instances that share a store without anything that carries messages between them. */
export const NO_LINK: MessageLink = {
  state: "down",
  send: () => false,
  listen: () => NOTHING,
  onChange: () => NOTHING,
};
