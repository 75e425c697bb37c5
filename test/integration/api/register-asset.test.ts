import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { hashSecret } from "../../../src/control-plane/accounts/secrets.ts";

let control: ControlPlane;
beforeAll(async () => {
  control = await startControlPlane();
});
afterAll(() => control[Symbol.asyncDispose]());

const SUPER = { sid: "HSregister1", iccid: "8988307099000000001", network_group: "default_10gb" };
const PRO = { imsi: "262019900000001", iccid: "8988307099000000002", service_profile: "gold" };

test("registers with all fields and returns the asset with its device token once", async () => {
  const account = await control.account();
  const api = apiClient(control, account);
  const before = Math.floor(Date.now() / 1000);
  const { status, body, headers } = await api.post("/v1/assets", {
    serial_number: "R-full",
    name: "Pumpenhaus Süd 🚰",
    type: "gateway",
    supersim: SUPER,
    prosim: PRO,
  });
  const { device_token, ...asset } = body;
  expect(status).toBe(201);
  expect(asset).toEqual({
    uuid: expect.stringMatching(/^[0-9a-f-]{36}$/),
    serial_number: "R-full",
    name: "Pumpenhaus Süd 🚰",
    type: "gateway",
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
    status: "active",
    connected: false,
    last_seen: null,
    agent_version: null,
    accepted_at: null,
    tags: {},
    attention: [],
    supersim: SUPER,
    prosim: PRO,
  });
  expect(asset["created_at"]).toBeGreaterThanOrEqual(before);
  expect(headers.get("location")).toBe(`/v1/assets/${String(asset["uuid"])}`);
  expect(headers.get("cache-control")).toBe("no-store");
  // The token is what the device connects with; at least 32 random bytes behind a recognisable prefix.
  expect(device_token).toMatch(/^ed_[A-Za-z0-9_-]{43,}$/);
  const owner = await control.store.assets.findAssetByDeviceToken(hashSecret(String(device_token)));
  expect(owner?.uuid).toBe(asset["uuid"]);
  for (const id of ["R-full", SUPER.sid, SUPER.iccid, PRO.iccid, String(asset["uuid"]).toUpperCase()]) {
    expect((await api.get(`/v1/assets/${id}`)).body).toEqual(asset);
  }
});

test("a serial number is enough: the name is the serial number, there is no SIM and the status is inactive", async () => {
  const { status, body } = await apiClient(control, await control.account()).post("/v1/assets", {
    serial_number: "R-bare",
  });
  expect(status).toBe(201);
  expect(body).toMatchObject({ serial_number: "R-bare", name: "R-bare", type: "", status: "inactive" });
  expect(body).not.toHaveProperty("supersim");
  expect(body).not.toHaveProperty("prosim");
});

const sim = (n: number) => ({ sid: `HStaken${n}`, iccid: `898830709800000000${n}`, network_group: "default_1gb" });
const pro = (n: number) => ({ imsi: "262010000000001", iccid: `898830709700000000${n}`, service_profile: "p" });

test("an identifier that belongs to an asset of any account is refused, naming the field, and nothing is left", async () => {
  const api = apiClient(control, await control.account());
  const first = { serial_number: "T-1", supersim: sim(1), prosim: pro(1) };
  expect((await api.post("/v1/assets", first)).status).toBe(201);
  const taken = [
    ["serial_number", { serial_number: "T-1" }],
    ["supersim.sid", { serial_number: "T-2", supersim: { ...sim(2), sid: sim(1).sid } }],
    ["supersim.iccid", { serial_number: "T-2", supersim: { ...sim(2), iccid: sim(1).iccid } }],
    ["supersim.iccid", { serial_number: "T-2", supersim: { ...sim(2), iccid: pro(1).iccid } }],
    ["prosim.iccid", { serial_number: "T-2", prosim: { ...pro(2), iccid: pro(1).iccid } }],
    ["prosim.iccid", { serial_number: "T-2", prosim: { ...pro(2), iccid: sim(1).iccid } }],
    // One kind of identifier in the place of another: it would name two assets all the same.
    ["serial_number", { serial_number: sim(1).sid }],
    ["serial_number", { serial_number: pro(1).iccid }],
    ["supersim.sid", { serial_number: "T-2", supersim: { ...sim(2), sid: sim(1).iccid } }],
  ] as const;
  const other = apiClient(control, await control.account());
  for (const client of [api, other]) {
    for (const [field, body] of taken) {
      const answer = await client.post("/v1/assets", body);
      expect(answer.status, field).toBe(409);
      expect(answer.body).toMatchObject({ code: "IdentifierTaken", details: { field } });
      expect(answer.body["message"]).toContain(field);
    }
  }
  expect((await api.get("/v1/assets")).body["assets"]).toHaveLength(1);
  expect((await other.get("/v1/assets")).body["assets"]).toHaveLength(0);
});

test("SIDs and serial numbers differ by case", async () => {
  const api = apiClient(control, await control.account());
  expect((await api.post("/v1/assets", { serial_number: "Case-a" })).status).toBe(201);
  expect((await api.post("/v1/assets", { serial_number: "case-A" })).status).toBe(201);
  expect((await api.get("/v1/assets/CASE-A")).status).toBe(404);
});

test("a network group of the account's own is known to that account only", async () => {
  const account = await control.account();
  await control.store.networkGroups.addNetworkGroup(account.accountId, "fleet-north");
  const supersim = { sid: "HSgroup1", iccid: "8988307096000000001", network_group: "fleet-north" };
  const stranger = await apiClient(control, await control.account()).post("/v1/assets", {
    serial_number: "G-1",
    supersim,
  });
  expect(stranger.status).toBe(422);
  expect(stranger.body).toMatchObject({ code: "UnknownNetworkGroup", details: { network_group: "fleet-north" } });
  const own = await apiClient(control, account).post("/v1/assets", { serial_number: "G-1", supersim });
  expect(own.status).toBe(201);
});

test.each([
  [{}, "serial_number"],
  [{ serial_number: "" }, "serial_number"],
  [{ serial_number: null }, "serial_number"],
  [{ serial_number: 7 }, "serial_number"],
  [{ serial_number: "has space" }, "serial_number"],
  [{ serial_number: "a/b" }, "serial_number"],
  [{ serial_number: ".." }, "serial_number"],
  [{ serial_number: "x".repeat(65) }, "serial_number"],
  [{ serial_number: "0B7E5A52-6F0C-4C1E-9A52-0D3F3A0F6C11" }, "serial_number"],
  [{ serial_number: "B-1", name: "" }, "name"],
  [{ serial_number: "B-1", name: "x".repeat(129) }, "name"],
  [{ serial_number: "B-1", name: "line\nbreak" }, "name"],
  [{ serial_number: "B-1", name: "bidi \u202E" }, "name"],
  [{ serial_number: "B-1", name: "\uD800" }, "name"],
  [{ serial_number: "B-1", type: "x".repeat(65) }, "type"],
  [{ serial_number: "B-1", uuid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11" }, "uuid"],
  [{ serial_number: "B-1", fleet: "f" }, "fleet"],
  [{ serial_number: "B-1", supersim: null }, "supersim"],
  [{ serial_number: "B-1", supersim: { ...SUPER, iccid: "12/3" } }, "supersim.iccid"],
  [{ serial_number: "B-1", supersim: { ...SUPER, sid: "a b" } }, "supersim.sid"],
  [{ serial_number: "B-1", supersim: { ...SUPER, sid: "0b7e5a52-6f0c-4c1e-9a52-0d3f3a0f6c11" } }, "supersim.sid"],
  [{ serial_number: "B-1", supersim: { sid: "HSx", iccid: "8988307099000000009" } }, "supersim.network_group"],
  [{ serial_number: "B-1", prosim: { ...PRO, imsi: "" } }, "prosim.imsi"],
  [{ serial_number: "B-1", prosim: { ...PRO, status: "active" } }, "prosim.status"],
  [
    {
      serial_number: "B-1",
      supersim: { ...SUPER, iccid: "8988307095000000001" },
      prosim: { ...PRO, iccid: "8988307095000000001" },
    },
    "prosim.iccid",
  ],
])("refuses %j, naming %s", async (body, path) => {
  const account = await control.account();
  const api = apiClient(control, account);
  const answer = await api.post("/v1/assets", body);
  expect(answer.status).toBe(422);
  expect(answer.body).toMatchObject({ code: "InvalidRequest", details: { issues: [{ path }] } });
  expect((await api.get("/v1/assets")).body["assets"]).toEqual([]);
});
