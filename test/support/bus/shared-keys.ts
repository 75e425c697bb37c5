import { randomBytes } from "node:crypto";
import type { BusKey, SharedKeys } from "../../../src/control-plane/bus/sealed/message-seal.ts";
import { SealedLink } from "../../../src/control-plane/bus/sealed/sealed-link.ts";
import type { MessageLink } from "../../../src/control-plane/bus/message-link.ts";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { captureLog } from "../link/log-capture.ts";

/** Returns a new key of the bus. */
export function someBusKey(): BusKey {
  return { id: randomBytes(8).toString("hex"), secret: randomBytes(32) };
}

/** Keys as the instances of one database have them. */
export class TestKeys implements SharedKeys {
  readonly startedAtMs: number;
  keys: readonly BusKey[];
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock, keys: readonly BusKey[] = [someBusKey()]) {
    this.#clock = clock;
    this.keys = keys;
    this.startedAtMs = this.nowMs;
  }

  get nowMs(): number {
    return Math.floor(this.#clock.now());
  }

  get current(): BusKey | undefined {
    return this.keys[0];
  }

  find(id: string): BusKey | undefined {
    return this.keys.find((key) => key.id === id);
  }
}

/** Two links of instances that share a key. */
export function sealBoth([here, there]: readonly [MessageLink, MessageLink]): [SealedLink, SealedLink] {
  const keys = new TestKeys();
  const seal = (link: MessageLink): SealedLink =>
    new SealedLink({ link, keys, clock: systemClock, logger: captureLog().logger });
  return [seal(here), seal(there)];
}
