import { LinkedBus } from "../../../src/control-plane/bus/linked-bus.ts";
import type { Bus } from "../../../src/control-plane/bus/bus.ts";
import type { MessageLink } from "../../../src/control-plane/bus/message-link.ts";
import type { NatsLink } from "../../../src/control-plane/bus/nats/nats-link.ts";
import type { NatsOptions } from "../../../src/control-plane/bus/nats/options.ts";
import { NatsRig } from "../../support/bus/nats-rig.ts";
import { sealBoth } from "../../support/bus/shared-keys.ts";

/** Two instances of the service on one bus. With one process both are the same. */
export interface Instances extends AsyncDisposable {
  readonly here: Bus;
  readonly there: Bus;
  /** Interrupts the bus, and resolves when it is up again. Absent where it cannot be interrupted. */
  readonly interrupt?: () => Promise<void>;
}

export interface BusHarness {
  readonly name: string;
  open(): Promise<Instances>;
}

/** Connects to a server, and resolves when the link is up. */
export async function linkTo(options: NatsOptions): Promise<NatsLink> {
  const rig = new NatsRig(options);
  try {
    await rig.reach("up");
  } catch (error) {
    await rig[Symbol.asyncDispose]();
    throw error;
  }
  return rig.link;
}

/** Two instances over their links, which seal what they carry. */
export function instancesOver(
  [here, there]: readonly [MessageLink, MessageLink],
  interrupt: () => Promise<void>,
  owner: AsyncDisposableStack,
): Instances {
  const [sealedHere, sealedThere] = sealBoth([here, there]);
  return {
    here: owner.use(new LinkedBus(owner.use(sealedHere))),
    there: owner.use(new LinkedBus(owner.use(sealedThere))),
    interrupt,
    [Symbol.asyncDispose]: () => owner.disposeAsync(),
  };
}
