import type { Clock } from "../../lib/clock.ts";
import type { NetworkKind } from "../core/traffic/network-kind.ts";
import type { Network } from "../host/network.ts";

/** How long a reading is reused, in milliseconds. */
const CACHE_TTL_MS = 10_000;

/** The network of the default route. */
export interface CurrentNetwork {
  /** Interface of the default route; `undefined` without one. */
  readonly interface: string | undefined;
  readonly kind: NetworkKind;
  /** Identifies the network by interface and gateway; `undefined` without a default route. */
  readonly id: string | undefined;
}

/** Reads the current network and caches it for a moment. */
export class NetworkWatch {
  readonly #network: Network;
  readonly #clock: Clock;
  #cached: { readonly current: CurrentNetwork; readonly at: number } | undefined;

  constructor(network: Network, clock: Clock) {
    this.#network = network;
    this.#clock = clock;
  }

  current(): CurrentNetwork {
    const now = this.#clock.monotonic();
    if (this.#cached && now - this.#cached.at < CACHE_TTL_MS) return this.#cached.current;
    const current = this.#read();
    this.#cached = { current, at: now };
    return current;
  }

  #read(): CurrentNetwork {
    const route = this.#network.route();
    if (!route) return { interface: undefined, kind: "other", id: undefined };
    const { interface: name, gateway } = route;
    const kind = this.#network.kindOf(name);
    // A modem gets another gateway each time it attaches.
    return { interface: name, kind, id: gateway === "" || kind === "modem" ? name : `${name}/${gateway}` };
  }
}
