/** Bytes transferred over a connection so far, and the number of messages. */
export type TrafficSource = () => { readonly sent: number; readonly received: number; readonly messages: number };

/** Counts the bytes of the link's connections. */
export interface TrafficFollower {
  /** Counts the traffic of a connection, and the cost of opening it, until disposed. */
  follow(source: TrafficSource): Disposable;
}

/** Counts nothing. */
export const UNCOUNTED: TrafficFollower = { follow: () => ({ [Symbol.dispose]: () => undefined }) };
