import { expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { NatsServer } from "../../support/bus/nats-server.ts";
import { createAccount, createAsset } from "../../support/control-plane.ts";
import { type TestInstance, TestInstances } from "../../support/control-plane/test-instances.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { waitFor } from "../../support/wait-for.ts";

const VOLUMES = { volumes: [], left_out: 0 };

test("NATS between instances goes and comes back: it is said, deployments go on, and only questions to others fail", async () => {
  await using nats = await NatsServer.start();
  await using instances = await TestInstances.open();
  const account = await createAccount(instances.store, instances.clock);
  const asset = await createAsset(instances.store, instances.clock, account);
  const a = await instances.start({ nats: nats.options() });
  const b = await instances.start({ nats: nats.options() });
  await using device = await FakeDevice.connect(a.agentUrl, asset.deviceToken);
  const get = (instance: TestInstance, path: string) => apiClient(instance, account).get(path);
  const busIs = (state: string): Promise<unknown> =>
    waitFor(`the bus to be ${state}`, async () => {
      const ready = await Promise.all([a, b].map((instance) => get(instance, "/readyz")));
      return ready.every(({ status, body }) => status === 200 && body["bus"] === state);
    });
  const volumes = (instance: TestInstance) => get(instance, `/v1/assets/${asset.uuid}/edge/volumes`);
  const answer = async () => device.answer((await device.next("query")).query_id, VOLUMES);

  await busIs("up");
  const [asked] = await Promise.all([volumes(b), answer()]);
  expect(asked.status).toBe(200);

  await nats.stop();
  await busIs("down");
  expect(await volumes(b)).toMatchObject({ status: 503, body: { code: "ServiceUnavailable" } });
  const [own] = await Promise.all([volumes(a), answer()]);
  expect(own.status).toBe(200);
  const stream = await openStream(`${b.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  device.success((await device.next("deploy")).deployment_id);
  expect(await stream.ended).toBe(true);
  expect(stream.events.at(-1)).toMatchObject({ status: "Success" });

  await nats.restart();
  await busIs("up");
  const [again] = await Promise.all([volumes(b), answer()]);
  expect(again.status).toBe(200);
});
