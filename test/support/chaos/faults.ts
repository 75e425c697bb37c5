import { setTimeout as sleep } from "node:timers/promises";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { engineRequest } from "../images.ts";
import type { PrivateEngine } from "../private-engine.ts";
import { listContainers } from "../system/engine-containers.ts";
import type { FrameAction } from "./frame-relay.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { ChaosSystem } from "./chaos-system.ts";

/** A fault. It ends by itself, or with `ChaosSystem.clearFaults`. */
export interface Fault {
  readonly name: string;
  /** Relative frequency. */
  readonly weight: number;
  inject(system: ChaosSystem, random: SeededRandom, engine: PrivateEngine): Promise<void>;
}

/** The faults of a random run. */
const FAULTS: readonly Fault[] = [
  {
    name: "agent killed",
    weight: 6,
    async inject({ agent }, random) {
      await agent.kill();
      await sleep(random.between(0, 1_500));
      agent.launch();
    },
  },
  {
    name: "agent killed twice",
    weight: 2,
    async inject({ agent }, random) {
      await agent.kill();
      agent.launch();
      await sleep(random.between(50, 1_000));
      await agent.kill();
      agent.launch();
    },
  },
  {
    name: "control plane killed",
    weight: 4,
    async inject({ control }, random) {
      await control.kill();
      await sleep(random.between(0, 1_500));
      await control.start();
    },
  },
  {
    name: "control plane restarted",
    weight: 2,
    async inject({ control }) {
      await control.stop();
      await control.start();
    },
  },
  { name: "link cut", weight: 4, inject: async ({ link }) => link.cut() },
  { name: "link half-open", weight: 2, inject: async ({ link }) => link.silence() },
  {
    name: "link stalled",
    weight: 3,
    async inject({ link }, random) {
      link.pause();
      await sleep(random.between(200, 6_000));
      link.resume();
    },
  },
  {
    name: "frames repeated and reordered",
    weight: 4,
    async inject({ link }, random) {
      const fates: readonly FrameAction[] = ["pass", "twice", "late"];
      link.decide = () => random.pick(fates);
      await sleep(random.between(500, 4_000));
      link.decide = () => "pass";
    },
  },
  {
    name: "container removed behind the agent's back",
    weight: 2,
    async inject({ engineSocket, prefix }, random) {
      const own = (await listContainers(engineSocket)).filter(({ Labels }) => Labels?.[LABELS.app]?.startsWith(prefix));
      if (own.length === 0) return;
      await engineRequest(engineSocket, "DELETE", `/containers/${random.pick(own).Id}?force=1`);
    },
  },
  {
    name: "engine hangs",
    weight: 2,
    async inject({ proxy }, random) {
      proxy.intercept(() => "hang");
      await sleep(random.between(500, 4_000));
      proxy.intercept();
    },
  },
  {
    name: "engine loses requests and answers",
    weight: 4,
    async inject({ proxy }, random) {
      proxy.intercept(() => (random.chance(0.3) ? "cut" : "pass"));
      await sleep(random.between(500, 4_000));
      proxy.intercept();
    },
  },
  {
    name: "engine restarted",
    weight: 1,
    async inject(_world, _random, engine) {
      await engine.stop();
      await engine.start();
    },
  },
  {
    name: "engine killed",
    weight: 1,
    async inject(_world, _random, engine) {
      await engine.kill();
      await engine.start();
    },
  },
];

/** Picks a fault by weight. */
export function pickFault(random: SeededRandom): Fault {
  let left = random.next() * FAULTS.reduce((sum, { weight }) => sum + weight, 0);
  return FAULTS.find(({ weight }) => (left -= weight) < 0) ?? (FAULTS[0] as Fault);
}
