import { expect, test, vi } from "vitest";
import { apiClient } from "../support/api-client.ts";
import { startControlPlane } from "../support/control-plane.ts";
import { openStream } from "../support/event-stream.ts";
import { FakeDevice } from "../support/fake-device.ts";

const SESSIONS = 40;

test("removing an asset closes its own session only", async () => {
  await using control = await startControlPlane();
  const crowd = await control.account();
  await using open = new AsyncDisposableStack();
  for (let count = 0; count < SESSIONS; count++) {
    const { uuid, deviceToken } = await control.asset(crowd);
    open.use(await FakeDevice.connect(control.agentUrl, deviceToken));
    const app = { apiKey: crowd.apiKey, body: { name: "web", image: "web:1" } };
    open.use(await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, app));
  }
  const account = await control.account();
  const asset = await control.asset(account);
  const device = open.use(await FakeDevice.connect(control.agentUrl, asset.deviceToken));
  const tokens = vi.spyOn(control.store.assets, "findAssetByDeviceToken");
  const keys = vi.spyOn(control.store.keys, "findKey");

  expect((await apiClient(control, account).delete(`/v1/assets/${asset.uuid}`)).status).toBe(204);
  expect(await device.closed).toBe(4401);
  expect(tokens.mock.calls.length + keys.mock.calls.length).toBeLessThanOrEqual(2);
});
