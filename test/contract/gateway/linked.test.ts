import { FaultyLink } from "../../support/bus/faulty-link.ts";
import { MemoryNetwork } from "../../support/bus/memory-link.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import { firstSeed, SeededRandom } from "../../support/chaos/seeded-random.ts";
import { linkTo } from "../bus/harness.ts";
import { gatewayContract, remoteStreamContract } from "./gateway-contract.ts";
import { type GatewayHarness, twoInstances } from "./harness.ts";

const overMemory: GatewayHarness = {
  name: "over links in memory",
  open: async () => {
    const network = new MemoryNetwork();
    return twoInstances([network.join(), network.join()], new AsyncDisposableStack());
  },
};

const seed = firstSeed();
const random = new SeededRandom(seed);
const overRepeatingLinks: GatewayHarness = {
  name: `over links that repeat messages, CHAOS_SEED=${seed}`,
  open: async () => {
    const network = new MemoryNetwork();
    const repeating = (): FaultyLink => new FaultyLink(network.join(), () => random.pick(["once", "twice"]));
    return twoInstances([repeating(), repeating()], new AsyncDisposableStack());
  },
};

const overNats: GatewayHarness = {
  name: "over NATS",
  open: async () => {
    await using owner = new AsyncDisposableStack();
    const server = owner.use(await NatsServer.start());
    const asking = owner.use(await linkTo(server.options()));
    const holding = owner.use(await linkTo(server.options()));
    return twoInstances([asking, holding], owner.move());
  },
};

for (const harness of [overMemory, overRepeatingLinks, overNats]) {
  gatewayContract(harness);
  remoteStreamContract(harness);
}
