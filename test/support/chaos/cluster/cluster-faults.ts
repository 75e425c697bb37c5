import { setTimeout as sleep } from "node:timers/promises";
import type { TcpRelay } from "../../link/tcp-relay.ts";
import type { FrameAction } from "../frame-relay.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { ClusterChaos } from "./cluster-chaos.ts";
import { killAtChunk, killAtFrame } from "./kill-moments.ts";

/** A fault that undoes itself. */
export interface ClusterFault {
  readonly name: string;
  /** Relative frequency. */
  readonly weight: number;
  /** Resolves to whether it happened: not while another fault works on the same part, or when its moment did not come. */
  inject(system: ClusterChaos, random: SeededRandom): Promise<boolean>;
}

const pause = (random: SeededRandom, low: number, high: number): Promise<void> => sleep(random.between(low, high));

/** Runs the work on a random instance. */
async function onInstance(
  system: ClusterChaos,
  random: SeededRandom,
  work: (index: number) => Promise<void>,
): Promise<boolean> {
  const index = random.between(0, system.instances.count - 1);
  system.history.add(`  instance ${index}`);
  return system.claim(`instance ${index}`, () => work(index));
}

/** Refuses connections for some seconds, and ends the open ones. */
async function sever(random: SeededRandom, ...links: readonly TcpRelay[]): Promise<void> {
  for (const link of links) link.sever();
  await pause(random, 500, 16_000);
  for (const link of links) link.restore();
}

const INSTANCE_FAULTS: readonly ClusterFault[] = [
  {
    name: "instance killed",
    weight: 5,
    inject: (system, random) =>
      onInstance(system, random, async (index) => {
        await system.instances.kill(index);
        await pause(random, 0, 6_000);
        await system.instances.start(index);
      }),
  },
  {
    name: "instance killed at a chunk of its database link",
    weight: 6,
    inject: async (system, random) => {
      let happened = false;
      await onInstance(system, random, async (index) => {
        happened = await killAtChunk(system, index, random);
        if (happened) await system.instances.start(index);
      });
      return happened;
    },
  },
  {
    name: "instance killed at a frame",
    weight: 5,
    inject: async (system, random) => {
      let happened = false;
      await onInstance(system, random, async (index) => {
        happened = await killAtFrame(system, index, random);
        if (happened) await system.instances.start(index);
      });
      return happened;
    },
  },
  {
    name: "instance stopped and started",
    weight: 4,
    inject: (system, random) =>
      onInstance(system, random, async (index) => {
        const code = await system.instances.stop(index);
        system.history.add(`  instance ${index} ended with ${code}`);
        await pause(random, 0, 2_000);
        await system.instances.start(index);
      }),
  },
  {
    name: "instance frozen",
    weight: 4,
    inject: (system, random) =>
      onInstance(system, random, async (index) => {
        const instance = system.instances.get(index);
        instance.signal("SIGSTOP");
        await pause(random, 500, 20_000);
        instance.signal("SIGCONT");
      }),
  },
  {
    name: "all instances killed",
    weight: 1,
    async inject(system, random) {
      const all = Array.from({ length: system.instances.count }, (_, index) => index);
      let killed = 0;
      const killOne = (index: number): Promise<boolean> =>
        system.claim(`instance ${index}`, async () => {
          killed++;
          await system.instances.kill(index);
          await pause(random, 0, 4_000);
          await system.instances.start(index);
        });
      await Promise.all(all.map(killOne));
      return killed === all.length;
    },
  },
];

const INSTANCE_LINK_FAULTS: readonly ClusterFault[] = [
  {
    name: "database link cut",
    weight: 2,
    inject: (system, random) =>
      onInstance(system, random, async (index) => system.instances.get(index).databaseLink.cut()),
  },
  {
    name: "database link severed",
    weight: 4,
    inject: (system, random) =>
      onInstance(system, random, (index) => sever(random, system.instances.get(index).databaseLink)),
  },
  {
    name: "database link silenced",
    weight: 3,
    inject: (system, random) =>
      onInstance(system, random, async (index) => system.instances.get(index).databaseLink.silence()),
  },
  {
    name: "NATS link severed",
    weight: 3,
    inject: (system, random) =>
      onInstance(system, random, (index) => sever(random, system.instances.get(index).natsLink)),
  },
  {
    name: "NATS link silenced",
    weight: 2,
    inject: (system, random) =>
      onInstance(system, random, async (index) => system.instances.get(index).natsLink.silence()),
  },
  {
    name: "database and NATS links severed",
    weight: 3,
    inject: (system, random) =>
      onInstance(system, random, (index) => {
        const { databaseLink, natsLink } = system.instances.get(index);
        return sever(random, databaseLink, natsLink);
      }),
  },
  {
    name: "link to devices and clients severed",
    weight: 3,
    inject: (system, random) =>
      onInstance(system, random, async (index) => {
        system.cluster.proxy.sever(index);
        await pause(random, 500, 16_000);
        system.cluster.proxy.restore(index);
      }),
  },
];

const SERVER_FAULTS: readonly ClusterFault[] = [
  {
    name: "PostgreSQL restarted",
    weight: 3,
    inject: (system, random) =>
      system.claim("postgres", async () => {
        const { postgres } = system.cluster;
        const mode = random.pick(["fast", "immediate"] as const);
        system.history.add(`  ${mode}`);
        await postgres.stop(mode);
        await pause(random, 0, 4_000);
        await postgres.restart();
      }),
  },
  {
    name: "PostgreSQL paused",
    weight: 3,
    inject: (system, random) =>
      system.claim("postgres", async () => {
        const { postgres } = system.cluster;
        await postgres.pause();
        await pause(random, 500, 12_000);
        await postgres.resume();
      }),
  },
  {
    name: "NATS stopped",
    weight: 3,
    inject: (system, random) =>
      system.claim("nats", async () => {
        const { nats } = system.cluster;
        await nats.stop();
        await pause(random, 0, 8_000);
        await nats.restart();
      }),
  },
  {
    name: "NATS paused",
    weight: 2,
    inject: (system, random) =>
      system.claim("nats", async () => {
        const { nats } = system.cluster;
        nats.pause();
        await pause(random, 500, 12_000);
        nats.resume();
      }),
  },
];

const DEVICE_FAULTS: readonly ClusterFault[] = [
  {
    name: "agent killed",
    weight: 3,
    inject: (system, random) =>
      system.claim("agent", async () => {
        const { agent } = system;
        await agent.kill();
        await pause(random, 0, 3_000);
        agent.launch();
      }),
  },
  { name: "agent's link cut", weight: 2, inject: async ({ link }) => (link.cut(), true) },
  { name: "agent's link half-open", weight: 2, inject: async ({ link }) => (link.silence(), true) },
  {
    name: "agent's link stalled",
    weight: 2,
    inject: (system, random) =>
      system.claim("link", async () => {
        const { link } = system;
        link.pause();
        await pause(random, 200, 6_000);
        link.resume();
      }),
  },
  {
    name: "agent's frames repeated and reordered",
    weight: 2,
    inject: (system, random) =>
      system.claim("link", async () => {
        const { link } = system;
        const fates: readonly FrameAction[] = ["pass", "twice", "late"];
        link.decide = () => random.pick(fates);
        await pause(random, 500, 4_000);
        link.decide = () => "pass";
      }),
  },
  {
    name: "models' links cut",
    weight: 2,
    async inject({ sites }) {
      for (const { link } of sites) link.cut();
      return true;
    },
  },
  {
    name: "model's link silenced",
    weight: 3,
    inject: async ({ sites }, random) => (random.pick(sites).link.silence(), true),
  },
  {
    name: "model away",
    weight: 4,
    inject: (system, random) => {
      const { asset, link } = random.pick(system.sites);
      return system.claim(asset.serialNumber, () => sever(random, link));
    },
  },
  {
    name: "all clients leave",
    weight: 2,
    async inject({ allClients }) {
      for (const client of allClients) client.leave();
      return true;
    },
  },
];

/** The faults of a random run over several instances. */
export const CLUSTER_FAULTS = [...INSTANCE_FAULTS, ...INSTANCE_LINK_FAULTS, ...SERVER_FAULTS, ...DEVICE_FAULTS];
