import { setTimeout as sleep } from "node:timers/promises";
import type { Apps } from "../apps.ts";
import type { RetryingClient } from "../client.ts";
import { SeededRandom } from "../seeded-random.ts";
import type { ClusterChaos, ModelSite } from "./cluster-chaos.ts";
import { CLUSTER_FAULTS, type ClusterFault } from "./cluster-faults.ts";

const MAX_WAIT_FOR_DEVICE_S = 10;
/** Longest time between two requests for one device. */
const MAX_PAUSE_MS = 3_000;

interface RoundOptions {
  readonly system: ClusterChaos;
  readonly apps: Apps;
  readonly random: SeededRandom;
  /** For how long something begins. What has begun may take longer. */
  readonly ms: number;
}

/**
 * Injects some faults, and requests something of every device until all of them are over, and a moment longer. Returns the
 * names of the faults that happened.
 */
export async function runRound({ system, apps, random, ms }: RoundOptions): Promise<string[]> {
  const names: string[] = [];
  // The seeds of everything are drawn before anything begins, so that they do not depend on what happens.
  const seeded = (): SeededRandom => new SeededRandom(random.between(1, 2 ** 31));
  const faults = Array.from({ length: random.between(2, 5) }, () => {
    return { fault: pickFault(random), atMs: random.between(0, ms), own: seeded() };
  });
  const users = system.sites.map((site) => ({ site, own: seeded() }));
  const agentUses = Array.from({ length: random.between(1, 3) }, () => ({
    atMs: random.between(0, ms),
    own: seeded(),
  }));
  const over = new AbortController();
  const used = [
    ...users.map(({ site, own }) => useUntil(over.signal, system, apps, site, own)),
    ...agentUses.map(async ({ atMs, own }) => (await sleep(atMs), useSystem(system, apps, undefined, own))),
  ];
  try {
    await Promise.all([
      sleep(ms),
      ...faults.map(async ({ fault, atMs, own }) => (await sleep(atMs), inject(system, fault, own, names))),
    ]);
  } finally {
    over.abort();
    await Promise.all(used);
  }
  return names;
}

/** Requests something of the device again and again. */
async function useUntil(
  over: AbortSignal,
  system: ClusterChaos,
  apps: Apps,
  site: ModelSite,
  random: SeededRandom,
): Promise<void> {
  const uses: Promise<void>[] = [];
  while (!over.aborted) {
    await sleep(random.between(0, MAX_PAUSE_MS), undefined, { signal: over }).catch(() => undefined);
    uses.push(useSystem(system, apps, site, new SeededRandom(random.between(1, 2 ** 31))));
  }
  await Promise.all(uses);
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
