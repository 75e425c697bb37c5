import type { Clock } from "../../lib/clock.ts";
import type { NetworkKind } from "../core/traffic/network-kind.ts";
import type { Network } from "../host/network.ts";

/** A look serves for so long, in milliseconds. */
const CACHE_TTL_MS = 10_000;

/** The network the device is in. */
export interface CurrentNetwork {
  /** What leads out; `undefined` where nothing does. */
  readonly interface: string | undefined;
  readonly kind: NetworkKind;
  /** Identifies the network by interface and gateway; `undefined` without a default route. */
  readonly id: string | undefined;
}

/** Knows which network the device is in, without looking for it at each question. */
export class NetworkWatch {
  readonly #network: Network;
  readonly #clock: Clock;
  #seen: { readonly current: CurrentNetwork; readonly at: number } | undefined;

  constructor(network: Network, clock: Clock) {
    this.#network = network;
    this.#clock = clock;
  }

  current(): CurrentNetwork {
    const now = this.#clock.monotonic();
    if (this.#seen && now - this.#seen.at < CACHE_TTL_MS) return this.#seen.current;
    const current = this.#look();
    this.#seen = { current, at: now };
    return current;
  }

  #look(): CurrentNetwork {
    const route = this.#network.route();
    if (!route) return { interface: undefined, kind: "other", id: undefined };
    const { interface: name, gateway } = route;
    const kind = this.#network.kindOf(name);
    // A modem's gateway is another one each time it attaches.
    return { interface: name, kind, id: gateway === "" || kind === "modem" ? name : `${name}/${gateway}` };
  }
}
