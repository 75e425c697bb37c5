import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Receipt, Receivers } from "../../support/alerts/receivers.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { Cluster } from "../../support/system/cluster.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const missing = await postgresUnavailableReason();

/** Each route makes a message to each channel. */
const ROUTES = ["a", "b", "c"];
const CHANNELS = Array.from({ length: 8 }, (_, at) => `hook-${at}`);

describe.skipIf(missing !== undefined)("alerts of two instances", () => {
  let owned: AsyncDisposableStack;
  let receivers: Receivers;
  let cluster: Cluster;
  let api: ApiClient;
  let connect: () => Promise<FakeDevice>;

  beforeEach(async ({ onTestFailed }) => {
    owned = new AsyncDisposableStack();
    receivers = owned.use(await Receivers.start(() => Date.now()));
    const { path } = owned.use(await tempDir());
    const settings = {
      secrets_key_file: join(path, "secrets.key"),
      alert_channels: { allow_private: ["127.0.0.1"] },
    };
    cluster = owned.use(await Cluster.start({ settings }));
    onTestFailed(() => console.error(cluster.tail()));
    const account = await cluster.createAccount("acme");
    const asset = await cluster.addAsset(account.accountId, "GW-1");
    api = apiClient(cluster, account);
    connect = () => FakeDevice.connect(cluster.agentUrl, asset.deviceToken);
    const { status, body } = await api.put("/v1/alert-settings", {
      rules: [{ condition: "device_offline", for_s: 0 }],
      routes: Object.fromEntries(ROUTES.map((name) => [name, { channels: CHANNELS, group_wait_s: 0 }])),
      channels: Object.fromEntries(
        CHANNELS.map((name) => [name, { kind: "webhook", url: `${receivers.url}/webhook/${name}` }]),
      ),
    });
    expect(status).toBe(200);
    receivers.secrets = body["new_secrets"] as Record<string, string>;
  });
  afterEach(() => owned.disposeAsync());

  const loseDevice = async (): Promise<void> => (await connect()).cut();
  /** Waits until nothing is left to send, and returns what each channel got. */
  const arrived = async (): Promise<readonly (readonly Receipt[])[]> => {
    const count = ROUTES.length * CHANNELS.length;
    await waitFor("each message to be delivered", async () => {
      const { body } = await api.get("/v1/alert-deliveries?state=delivered&limit=100");
      return (body["deliveries"] as unknown[]).length === count;
    });
    expect(receivers.problems).toEqual([]);
    return CHANNELS.map((name) => receivers.of(name));
  };

  it("send each message once", async () => {
    await loseDevice();
    for (const receipts of await arrived()) {
      expect(receipts.map(({ text }) => text)).toEqual(ROUTES.map(() => "Device offline: GW-1"));
      expect(new Set(receipts.map(({ id }) => id)).size).toBe(ROUTES.length);
    }
  });

  it("one is killed while it sends: the other one sends again, under the same ids, and nothing is lost", async () => {
    receivers.answer = () => "hang";
    await loseDevice();
    await waitFor("a message on its way to each channel", () => {
      return CHANNELS.every((name) => receivers.of(name).length > 0);
    });
    const victim = await waitFor("an instance that sends", async () => {
      const claims =
        "SELECT claimed_by FROM alert_deliveries WHERE claimed_by IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC";
      const [id] = (await cluster.postgres.execute(claims, cluster.databaseName)).split("\n");
      return cluster.instances.find((instance) => instance.log().some((line) => line["instance"] === id));
    });
    await victim.kill();
    receivers.answer = () => 200;
    const all = await arrived();
    for (const receipts of all) {
      expect(new Set(receipts.map(({ id }) => id)).size).toBe(ROUTES.length);
      for (const copies of Map.groupBy(receipts, ({ id }) => id).values())
        expect(new Set(copies.map(({ body }) => body)).size).toBe(1);
    }
    // What had reached receivers without an answer is there twice.
    expect(all.some((receipts) => receipts.length > ROUTES.length)).toBe(true);
  });
});
