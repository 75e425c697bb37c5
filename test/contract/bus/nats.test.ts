import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { NatsOptions } from "../../../src/control-plane/bus/nats/options.ts";
import { type Fault, FaultyLink } from "../../support/bus/faulty-link.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import { firstSeed, SeededRandom } from "../../support/chaos/seeded-random.ts";
import { waitFor } from "../../support/wait-for.ts";
import { busContract } from "./bus-contract.ts";
import { type BusHarness, instancesOver, linkTo } from "./harness.ts";

interface Prepared {
  readonly server: NatsServer;
  readonly options: NatsOptions;
}

async function plain(): Promise<Prepared> {
  const server = await NatsServer.start();
  return { server, options: server.options() };
}

async function secured(): Promise<Prepared> {
  const server = await NatsServer.start({ tls: "client", config: ['authorization { token: "a-token" }'] });
  const tokenFile = join(server.folder, "token");
  await writeFile(tokenFile, "a-token\n");
  const { certFile, keyFile } = server.tls ?? { certFile: "", keyFile: "" };
  return { server, options: server.options({ kind: "token", tokenFile }, { certFile, keyFile }) };
}

function overNats(name: string, prepare: () => Promise<Prepared>, decide: () => Fault): BusHarness {
  return {
    name,
    open: async () => {
      await using owner = new AsyncDisposableStack();
      const { server, options } = await prepare();
      owner.use(server);
      const here = owner.use(await linkTo(options));
      const there = owner.use(await linkTo(options));
      const interrupt = async (): Promise<void> => {
        await server.stop();
        await waitFor("both to be down", () => here.state === "down" && there.state === "down");
        await server.restart();
        await waitFor("both to be up", () => here.state === "up" && there.state === "up");
      };
      const links = [new FaultyLink(here, decide), new FaultyLink(there, decide)] as const;
      return instancesOver(links, interrupt, owner.move());
    },
  };
}

busContract(overNats("over NATS", plain, () => "once"));
busContract(overNats("over NATS with TLS, client certificates and a token", secured, () => "once"));

const seed = firstSeed();
const random = new SeededRandom(seed);
busContract(
  overNats(`over NATS, with lost and repeated messages, CHAOS_SEED=${seed}`, plain, () =>
    random.pick(["lost", "once", "twice"]),
  ),
);
