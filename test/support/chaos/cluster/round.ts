import { setTimeout as sleep } from "node:timers/promises";
import type { Apps } from "../apps.ts";
import type { RetryingClient } from "../client.ts";
import { SeededRandom } from "../seeded-random.ts";
import type { ClusterChaos, ModelSite } from "./cluster-chaos.ts";
import { CLUSTER_FAULTS, type ClusterFault } from "./cluster-faults.ts";

const MAX_WAIT_FOR_DEVICE_S = 10;

interface RoundOptions {
  readonly system: ClusterChaos;
  readonly apps: Apps;
  readonly random: SeededRandom;
  /** For how long something begins. What has begun may take longer. */
  readonly ms: number;
}

/** Something that is done to the system at a time that the seed decides. */
interface Step {
  readonly atMs: number;
  readonly run: () => Promise<void>;
}

/** Returns the names of the faults that happened. Resolves when all of them are over. */
export async function runRound({ system, apps, random, ms }: RoundOptions): Promise<string[]> {
  const names: string[] = [];
  const steps: Step[] = [];
  const at = (): number => random.between(0, ms);
  // The seeds of all steps are drawn before any step, so that they do not depend on what happens.
  const seeded = (): SeededRandom => new SeededRandom(random.between(1, 2 ** 31));
  for (const site of [undefined, ...system.sites]) {
    for (let count = random.between(1, site ? 4 : 2); count > 0; count--) {
      const own = seeded();
      steps.push({ atMs: at(), run: () => useSystem(system, apps, site, own) });
    }
  }
  for (let count = random.between(2, 5); count > 0; count--) {
    const fault = pickFault(random);
    const own = seeded();
    steps.push({ atMs: at(), run: () => inject(system, fault, own, names) });
  }
  await Promise.all(steps.map(async ({ atMs, run }) => (await sleep(atMs), run())));
  return names;
}

async function inject(system: ClusterChaos, fault: ClusterFault, random: SeededRandom, names: string[]): Promise<void> {
  system.history.add(`begins: ${fault.name}`);
  const happened = await fault.inject(system, random);
  system.history.add(`${happened ? "ends" : "did not happen"}: ${fault.name}`);
  if (happened) names.push(fault.name);
}

/** A client that requests something, and may cancel it, leave, and come back, or request it again with the same key. */
async function useSystem(
  system: ClusterChaos,
  apps: Apps,
  site: ModelSite | undefined,
  random: SeededRandom,
): Promise<void> {
  const request = site ? { name: system.name(), image: "model:1" } : apps.randomRequest(system, random);
  const options = random.chance(0.4) ? { waitForDeviceS: random.between(1, MAX_WAIT_FOR_DEVICE_S) } : {};
  const client = system.request(request, site, options);
  const action = "action" in request ? request.action : "deploy";
  const wait = options.waitForDeviceS === undefined ? "" : `, waits ${options.waitForDeviceS} s`;
  system.history.add(`request: ${action} ${request.name} on ${site?.asset.serialNumber ?? "the agent"}${wait}`);
  const doLater = async (what: string, probability: number, run: () => unknown): Promise<void> => {
    if (!random.chance(probability)) return;
    await sleep(random.between(0, 3_000));
    if (client.final) return;
    system.history.add(`${what} ${request.name}`);
    await run();
  };
  await doLater("repeats", 0.25, () => system.repeat(client, site, options));
  await doLater("leaves", 0.4, () => client.leave());
  await doLater("leaves", 0.2, () => client.leave());
  // It repeats that until it gets an answer, which may take until the faults are over.
  await doLater("cancels", 0.2, () => void cancel(client));
}

async function cancel(client: RetryingClient): Promise<void> {
  await client.cancel().catch(() => undefined);
}

function pickFault(random: SeededRandom): ClusterFault {
  let left = random.next() * CLUSTER_FAULTS.reduce((sum, { weight }) => sum + weight, 0);
  return CLUSTER_FAULTS.find(({ weight }) => (left -= weight) < 0) ?? (CLUSTER_FAULTS[0] as ClusterFault);
}
