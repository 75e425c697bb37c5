import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";

let control: ControlPlane;
let account: TestAccount;

beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
});
afterAll(() => control[Symbol.asyncDispose]());

const get = (id: string, apiKey = account.apiKey): Promise<Response> =>
  fetch(`${control.url}/v1/assets/${id}`, { headers: { "X-API-Key": apiKey } });

test("an asset is found by each of its identifiers, and only by its own account", async () => {
  const { uuid } = await control.asset(account, {
    serialNumber: "SN:1_x",
    createdAt: 1_700_000_000,
    supersim: { sid: "HS1", iccid: "8901", networkGroup: "default_1gb", status: "inactive" },
    prosim: { imsi: "2404", iccid: "8902", serviceProfile: "basic", status: "active" },
  });
  const expected = {
    uuid,
    serial_number: "SN:1_x",
    name: "Test gateway",
    type: "gateway",
    created_at: 1_700_000_000,
    status: "active",
    supersim: { sid: "HS1", iccid: "8901", network_group: "default_1gb" },
    prosim: { imsi: "2404", iccid: "8902", service_profile: "basic" },
    connected: false,
    last_seen: null,
    agent_version: null,
    accepted_at: expect.any(Number),
    updated_at: expect.any(Number),
    tags: {},
    attention: [],
  };
  const stranger = await control.account();
  for (const id of [uuid, uuid.toUpperCase(), encodeURIComponent("SN:1_x"), "HS1", "8901", "8902"]) {
    const response = await get(id);
    expect(response.status, id).toBe(200);
    expect(await response.json()).toEqual(expected);
    const foreign = await get(id, stranger.apiKey);
    expect(foreign.status).toBe(404);
    expect(await foreign.json()).toEqual({ code: "AssetNotFound", message: "Asset not found" });
  }
  expect((await get("hs1")).status).toBe(404);
});

test("without a valid key nothing is answered", async () => {
  for (const headers of [{}, { "X-API-Key": "" }, { "X-API-Key": "ek_wrong" }, { "X-API-Key": "x".repeat(5000) }]) {
    const response = await fetch(`${control.url}/v1/assets/x`, { headers: headers as Record<string, string> });
    expect(response.status).toBe(401);
    expect(await response.json()).toEqual({
      code: "Unauthorized",
      message: "The API key is missing, wrong, revoked or has expired.",
    });
  }
});

test("a revoked key is refused at the next request", async () => {
  const revoked = await control.account();
  expect((await get("x", revoked.apiKey)).status).toBe(404);
  await control.store.keys.revokeKey(revoked.keyId, 1);
  expect((await get("x", revoked.apiKey)).status).toBe(401);
});
