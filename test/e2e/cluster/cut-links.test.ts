import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RetryingClient } from "../../support/chaos/client.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { Cluster } from "../../support/system/cluster.ts";
import type { Account, Asset } from "../../support/system/control.ts";
import { ReturningDevice } from "../../support/system/returning-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const missing = await postgresUnavailableReason();

describe.skipIf(missing !== undefined)("links of one instance that are cut", () => {
  let owned: AsyncDisposableStack;
  let cluster: Cluster;
  let account: Account;
  let asset: Asset;
  let device: ReturningDevice;
  /** The instance that the device is connected to, and the other one. */
  let a: number;
  let b: number;

  beforeEach(async ({ onTestFailed }) => {
    owned = new AsyncDisposableStack();
    cluster = owned.use(await Cluster.start());
    onTestFailed(() => console.error(cluster.tail()));
    account = await cluster.createAccount("acme");
    asset = await cluster.addAsset(account.accountId, "GW-1");
    const options = { url: cluster.agentUrl, deviceToken: asset.deviceToken, eventMs: 500, runningEvents: 10 };
    device = owned.use(new ReturningDevice(options));
    a = await cluster.holderOf(asset);
    b = 1 - a;
  });
  afterEach(() => owned.disposeAsync());

  const urlAt = (index: number): string => `${cluster.instance(index).url}/v1/assets/${asset.uuid}`;
  /** A client of the instance that does not have the device. */
  const deploy = (): RetryingClient => {
    const idempotencyKey = crypto.randomUUID();
    const request = { name: "web", image: "web:1" };
    return new RetryingClient({ assetUrl: urlAt(b), apiKey: account.apiKey, idempotencyKey, request });
  };
  const expectWhole = async (client: RetryingClient): Promise<void> => {
    expect(await client.finished).toMatchObject({ status: "Success" });
    expect(client.events.map(({ seq }) => seq)).toEqual(client.events.map((_, index) => index + 1));
    expect(device.cancelled).toEqual([]);
  };
  /** The state of the bus by `/readyz`; `undefined` if the instance is not ready. */
  const busOf = async (index: number): Promise<string | undefined> => {
    const response = await fetch(`${cluster.instance(index).url}/readyz`);
    return response.ok ? ((await response.json()) as { readonly bus?: string }).bus : undefined;
  };

  /** Asks the device through the instance that does not have it. */
  const ask = (): Promise<Response> => fetch(`${urlAt(b)}/edge/volumes`, { headers: { "X-API-Key": account.apiKey } });

  it("without its database it gives the device up, and what the device reports to another instance is whole", async () => {
    using client = deploy();
    // A request that has not reached the device by now would end with DeviceNotReachable, after ten seconds.
    await waitFor("an event of the device to be stored", () => device.confirmations > 0);
    cluster.instance(a).databaseLink.sever();
    await waitFor("the instance not to be ready", () => cluster.proxy.ready[a] === false);
    await waitFor("the device at the other instance", async () => (await cluster.holderOf(asset)) === b);
    await expectWhole(client);

    cluster.instance(a).databaseLink.restore();
    await waitFor("the instance to be ready again", () => cluster.proxy.ready[a] === true);
    expect(await cluster.holderOf(asset)).toBe(b);
  });

  it("without NATS it goes on with deployments, says so, and only questions to its devices fail elsewhere", async () => {
    cluster.instance(a).natsLink.sever();
    await waitFor("the instance to say that its bus is down", async () => (await busOf(a)) === "down");
    using client = deploy();
    await expectWhole(client);

    const refused = await ask();
    expect(refused.status).toBe(503);
    expect(refused.headers.get("Retry-After")).not.toBeNull();

    cluster.instance(a).natsLink.restore();
    await waitFor("the instance to say that its bus is up", async () => (await busOf(a)) === "up");
    // The device of the test has no such answer: the question has reached it.
    await waitFor("the question to reach the device", async () => (await ask()).status === 502);
  });
});

// Shows the reason if the suite is skipped.
if (missing !== undefined) it("links of one instance that are cut", ({ skip }) => skip(missing));
