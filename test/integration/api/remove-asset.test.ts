import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { FakeDevice } from "../../support/fake-device.ts";

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  api = apiClient(control, account);
});
afterAll(() => control[Symbol.asyncDispose]());

test("returns 204 without a body, and no identifier finds the asset", async () => {
  const supersim = someSuperSim();
  const prosim = someProSim();
  const { uuid, asset } = await control.asset(account, { supersim, prosim });
  const answer = await api.delete(`/v1/assets/${supersim.sid}`);
  expect([answer.status, answer.body]).toEqual([204, undefined]);
  for (const id of [uuid, asset.serialNumber, supersim.sid, supersim.iccid, prosim.iccid]) {
    expect((await api.get(`/v1/assets/${id}`)).status).toBe(404);
    expect((await api.delete(`/v1/assets/${id}`)).status).toBe(404);
  }
});

test("its identifiers are free again, for another account, too", async () => {
  const { uuid, asset } = await control.asset(account, { supersim: someSuperSim() });
  await api.delete(`/v1/assets/${uuid}`);
  const again = await apiClient(control, await control.account()).post("/v1/assets", {
    serial_number: asset.serialNumber,
    supersim: { sid: asset.supersim?.sid, iccid: asset.supersim?.iccid, network_group: "default_1gb" },
  });
  expect(again.status).toBe(201);
});

test("its device is disconnected and not let in again", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  const other = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  await using bystander = await FakeDevice.connect(control.agentUrl, other.deviceToken);
  await api.delete(`/v1/assets/${uuid}`);
  await device.closed;
  expect(bystander.isClosed).toBe(false);
  await expect(FakeDevice.connect(control.agentUrl, deviceToken)).rejects.toThrow("401");
});

test("a running deployment is cancelled: its stream ends, and the device receives a cancel", async () => {
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await fetch(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "app", image: "registry.example.com/app:1" }),
  });
  const { deployment_id } = await device.next("deploy");
  expect((await api.delete(`/v1/assets/${uuid}`)).status).toBe(204);
  expect((await device.next("cancel")).deployment_id).toBe(deployment_id);
  const events = (await stream.text()).split("\n").filter((line) => line !== "");
  expect(JSON.parse(events.at(-1)?.slice(5) ?? "")).toMatchObject({ status: "Fail", code: "DeploymentCancelled" });
  expect(await control.store.deployments.listUnfinished(uuid)).toEqual([]);
});
