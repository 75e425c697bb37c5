import { type Fault, FaultyLink } from "../../support/bus/faulty-link.ts";
import { MemoryNetwork } from "../../support/bus/memory-link.ts";
import { firstSeed, SeededRandom } from "../../support/chaos/seeded-random.ts";
import { busContract } from "./bus-contract.ts";
import { type BusHarness, instancesOver } from "./harness.ts";

function overMemory(name: string, decide: () => Fault): BusHarness {
  return {
    name,
    open: async () => {
      const network = new MemoryNetwork();
      const [here, there] = [network.join(), network.join()];
      const interrupt = async (): Promise<void> => {
        for (const link of [here, there]) link.state = "down";
        for (const link of [here, there]) link.state = "up";
      };
      const links = [new FaultyLink(here, decide), new FaultyLink(there, decide)] as const;
      return instancesOver(links, interrupt, new AsyncDisposableStack());
    },
  };
}

busContract(overMemory("over links in memory", () => "once"));

const seed = firstSeed();
const random = new SeededRandom(seed);
busContract(
  overMemory(`over links in memory that lose and repeat messages, CHAOS_SEED=${seed}`, () =>
    random.pick(["lost", "once", "twice"]),
  ),
);
