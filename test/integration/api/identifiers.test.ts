import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { openStream } from "../../support/event-stream.ts";

// The legacy endpoints are served, so that they are walked, too.
const LEGACY_FOR_NOW = { legacy_removal_at: "2999-01-01T00:00:00Z" };

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;

beforeAll(async () => {
  control = await startControlPlane({ config: LEGACY_FOR_NOW });
  account = await control.account();
  api = apiClient(control, account);
});
afterAll(() => control[Symbol.asyncDispose]());

async function assetWithBothSims() {
  const [supersim, prosim] = [someSuperSim(), someProSim()];
  const { uuid, asset } = await control.asset(account, { supersim, prosim });
  return { uuid, serialNumber: asset.serialNumber, supersim, prosim };
}

type AssetWithSims = Awaited<ReturnType<typeof assetWithBothSims>>;

const KINDS: readonly (readonly [string, (asset: AssetWithSims) => string])[] = [
  ["its UUID", ({ uuid }) => uuid],
  ["its UUID in capitals", ({ uuid }) => uuid.toUpperCase()],
  ["its serial number", ({ serialNumber }) => serialNumber],
  ["the SID of its Super SIM", ({ supersim }) => supersim.sid],
  ["the ICCID of its Super SIM", ({ supersim }) => supersim.iccid],
  ["the ICCID of its PRO SIM", ({ prosim }) => prosim.iccid],
];

test.each(KINDS)("every endpoint finds an asset by %s", async (_kind, identify) => {
  const asset = await assetWithBothSims();
  const id = identify(asset);
  const path = `/v1/assets/${id}`;
  expect((await api.get(path)).body).toMatchObject({ uuid: asset.uuid });
  expect((await api.patch(path, { name: "Renamed" })).body).toMatchObject({ uuid: asset.uuid, name: "Renamed" });
  for (const prefix of ["", "/v1"]) {
    expect((await api.patch(`${prefix}/assets/${id}/sim`, { status: "inactive" })).body).toMatchObject({
      iccid: asset.supersim.iccid,
      status: "inactive",
    });
    expect((await api.get(`${prefix}/assets/${id}/sim/usages`)).status).toBe(200);
  }
  for (const type of ["supersim", "prosim"]) {
    expect((await api.get(`${path}/sims/${type}/usages`)).body).toMatchObject({ usages: [] });
  }

  const stream = await openStream(`${control.url}${path}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  await stream.ended;
  // No device is connected: it is this asset's deployment all the same.
  expect(stream.events.at(-1)).toMatchObject({ status: "Fail", code: "DeviceNotReachable" });
  const deployment = `${path}/edge/deployments/${stream.deploymentId}`;
  expect((await api.get(`${path}/edge/deployments`)).body).toMatchObject({
    deployments: [{ deployment_id: stream.deploymentId }],
  });
  expect((await api.get(deployment)).body).toMatchObject({ deployment_id: stream.deploymentId });
  const again = await openStream(`${control.url}${deployment}/events`, { apiKey: account.apiKey });
  await again.ended;
  expect(again.events).toEqual(stream.events);
  expect((await api.delete(deployment)).status).toBe(200);

  expect((await api.delete(path)).status).toBe(204);
  expect((await api.get(`/v1/assets/${asset.uuid}`)).status).toBe(404);
});

test("the IMSI of a PRO SIM is no identifier, nor is a part of one", async () => {
  const asset = await assetWithBothSims();
  // Without its last digit alone it would be one, if that is the right check digit.
  for (const id of [asset.prosim.imsi, asset.supersim.iccid.slice(0, -2), asset.serialNumber.toLowerCase()]) {
    expect((await api.get(`/v1/assets/${id}`)).body, id).toMatchObject({ code: "AssetNotFound" });
  }
});
