// The bus of one process alone, with which SQLite is served: the contract holds for it as for those over NATS.

import { InProcessBus } from "../../../src/control-plane/bus/in-process-bus.ts";
import { busContract } from "./bus-contract.ts";

busContract({
  name: "in one process",
  open: async () => {
    const bus = new InProcessBus();
    return { here: bus, there: bus, [Symbol.asyncDispose]: async () => {} };
  },
});
