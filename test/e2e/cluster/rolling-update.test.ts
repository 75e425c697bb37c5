import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { RetryingClient } from "../../support/chaos/client.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { Cluster } from "../../support/system/cluster.ts";
import { ReturningDevice } from "../../support/system/returning-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const DEVICES = 12;
const APP = { name: "web", image: "web:1" };

interface Site {
  readonly device: ReturningDevice;
  readonly assetUrl: string;
  readonly apiKey: string;
}

/** Deploys one after another until told to stop. Returns the events of each deployment. */
async function deployUntil(site: Site, stopped: AbortSignal): Promise<DeploymentEvent[][]> {
  const deployments: DeploymentEvent[][] = [];
  while (!stopped.aborted) {
    const { assetUrl, apiKey } = site;
    const request = APP;
    using client = new RetryingClient({ assetUrl, apiKey, idempotencyKey: crypto.randomUUID(), request });
    await client.finished;
    deployments.push(client.events);
  }
  return deployments;
}

const missing = await postgresUnavailableReason();

describe.skipIf(missing !== undefined)("an update of three instances", () => {
  const owned = new AsyncDisposableStack();
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = owned.use(await Cluster.start({ instances: 3, settings: { stop_delay_s: 1 } }));
  });
  afterAll(() => owned.disposeAsync());
  beforeEach(({ onTestFailed }) => onTestFailed(() => console.error(cluster.tail())));

  async function createSites(): Promise<Site[]> {
    const { accountId, apiKey } = await cluster.createAccount("acme");
    const sites: Site[] = [];
    for (let index = 0; index < DEVICES; index++) {
      const { uuid, deviceToken } = await cluster.addAsset(accountId, `GW-${index}`);
      const options = { url: cluster.agentUrl, deviceToken, eventMs: 500, runningEvents: 5 };
      const device = owned.use(new ReturningDevice(options));
      sites.push({ device, assetUrl: `${cluster.url}/v1/assets/${uuid}`, apiKey });
    }
    return sites;
  }

  it("three instances are replaced one after the other under load: no deployment fails, and no client misses an event", async () => {
    const sites = await createSites();
    await waitFor("every device to be connected", () => sites.every(({ device }) => device.isConnected));
    const stopped = new AbortController();
    const clients = sites.map((site) => deployUntil(site, stopped.signal));
    try {
      for (const index of cluster.instances.keys()) await cluster.replace(index);
    } finally {
      stopped.abort();
    }
    const deployments = (await Promise.all(clients)).flat();

    const ends = deployments.map((events) => events.at(-1));
    expect(ends.filter((end) => end?.status !== "Success")).toEqual([]);
    for (const events of deployments) expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    // The update met them: devices came back, and streams were taken up again.
    expect(sites.flatMap(({ device }) => device.cancelled)).toEqual([]);
    expect(sites.filter(({ device }) => device.sessions > 1).length).toBe(DEVICES);
    expect(deployments.flat().filter(({ details }) => details?.["resume"] !== undefined).length).toBeGreaterThan(0);
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) it("an update of three instances", ({ skip }) => skip(missing));
