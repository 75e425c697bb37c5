import { afterAll, beforeAll, expect, test } from "vitest";
import type { AssetList } from "../../../src/protocol/assets/asset.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";

let control: ControlPlane;
beforeAll(async () => {
  control = await startControlPlane();
});
afterAll(() => control[Symbol.asyncDispose]());

async function list(api: ApiClient, query = ""): Promise<AssetList> {
  const { status, body } = await api.get(`/v1/assets${query}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as unknown as AssetList;
}

async function walk(
  api: ApiClient,
  limit: number,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const seen: string[] = [];
  for (let query = `?limit=${limit}`; ;) {
    const { assets, next_cursor } = await list(api, query);
    expect(assets.length).toBeLessThanOrEqual(limit);
    seen.push(...assets.map(({ serial_number }) => serial_number));
    if (next_cursor === null) return seen;
    await between();
    query = `?limit=${limit}&cursor=${encodeURIComponent(next_cursor)}`;
  }
}

async function accountWith(serials: readonly string[], createdAt: (index: number) => number): Promise<TestAccount> {
  const account = await control.account();
  for (const [index, serialNumber] of serials.entries()) {
    await control.asset(account, { serialNumber, createdAt: createdAt(index) });
  }
  return account;
}

test("an account without assets has an empty list", async () => {
  expect(await list(apiClient(control, await control.account()))).toEqual({ assets: [], next_cursor: null });
});

test("an item has every specified field; the network group is only within supersim", async () => {
  const account = await control.account();
  const supersim = someSuperSim();
  const prosim = someProSim({ status: "inactive" });
  const { uuid, asset } = await control.asset(account, { supersim, prosim, createdAt: 1_700_000_000 });
  expect(await list(apiClient(control, account))).toEqual({
    assets: [
      {
        uuid,
        serial_number: asset.serialNumber,
        name: asset.name,
        type: asset.type,
        created_at: 1_700_000_000,
        updated_at: expect.any(Number),
        status: "active",
        connected: false,
        last_seen: null,
        agent_version: null,
        accepted_at: expect.any(Number),
        tags: {},
        attention: [],
        supersim: { sid: supersim.sid, iccid: supersim.iccid, network_group: "default_1gb" },
        prosim: { imsi: prosim.imsi, iccid: prosim.iccid, service_profile: "gold" },
      },
    ],
    next_cursor: null,
  });
});

test("the order is creation time, then UUID, whatever the page size", async () => {
  const serials = Array.from({ length: 7 }, (_, index) => `ORDER-${index}`);
  // Two of each second, registered newest first.
  const account = await accountWith(serials, (index) => 1_700_000_100 - Math.floor(index / 2));
  const all = await list(apiClient(control, account), "?limit=200");
  const keys = all.assets.map(({ created_at, uuid }) => `${created_at} ${uuid}`);
  expect(keys).toEqual(keys.toSorted());
  for (const limit of [1, 2, 3, 6, 7, 8]) {
    expect(await walk(apiClient(control, account), limit)).toEqual(all.assets.map((asset) => asset.serial_number));
  }
});

test("pages neither repeat nor skip an asset while others are registered", async () => {
  const serials = Array.from({ length: 9 }, (_, index) => `STABLE-${index}`);
  const account = await accountWith(serials, (index) => 1_700_000_000 + index);
  let late = 0;
  const seen = await walk(apiClient(control, account), 2, () =>
    // Before everything, and after everything.
    Promise.all(
      [1_600_000_000, 1_800_000_000].map((at) =>
        control.asset(account, { serialNumber: `LATE-${++late}`, createdAt: at + late }),
      ),
    ),
  );
  expect(new Set(seen).size).toBe(seen.length);
  expect(seen.filter((serial) => serial.startsWith("STABLE"))).toEqual(serials);
});

test("a registration within the same second comes after what was listed already", async () => {
  const account = await control.account();
  const api = apiClient(control, account);
  await api.post("/v1/assets", { serial_number: "SECOND-1" });
  await api.post("/v1/assets", { serial_number: "SECOND-2" });
  const first = await list(api, "?limit=1");
  await api.post("/v1/assets", { serial_number: "SECOND-3" });
  const rest = await list(api, `?cursor=${first.next_cursor}`);
  expect(rest.assets.map(({ serial_number }) => serial_number)).toEqual(["SECOND-2", "SECOND-3"]);
});

test("a page has 50 assets by default, and at most 200", async () => {
  const account = await accountWith(
    Array.from({ length: 201 }, (_, index) => `MANY-${index}`),
    () => 1_700_000_000,
  );
  const api = apiClient(control, account);
  expect((await list(api)).assets).toHaveLength(50);
  expect((await list(api, "?limit=200")).assets).toHaveLength(200);
  expect((await list(api, "?limit=200")).next_cursor).not.toBeNull();
});

test("filters by status, type and part of name or serial number", async () => {
  const account = await control.account();
  const api = apiClient(control, account);
  const add = (serialNumber: string, fields: object) => control.asset(account, { serialNumber, type: "", ...fields });
  await add("F-none", { name: "Alpha" });
  await add("F-super", { name: "beta 100%", supersim: someSuperSim(), type: "gateway" });
  await add("F-off", { name: "Gamma", supersim: someSuperSim({ status: "inactive" }), type: "gateway" });
  await add("F-pro", { name: "del_ta", supersim: someSuperSim({ status: "inactive" }), prosim: someProSim() });
  const serials = async (query: string): Promise<string[]> =>
    (await list(api, query)).assets.map(({ serial_number }) => serial_number).toSorted();
  expect(await serials("?status=active")).toEqual(["F-pro", "F-super"]);
  expect(await serials("?status=inactive")).toEqual(["F-none", "F-off"]);
  expect(await serials("?type=gateway")).toEqual(["F-off", "F-super"]);
  expect(await serials("?type=Gateway")).toEqual([]);
  expect(await serials("?type=")).toEqual(["F-none", "F-pro"]);
  expect(await serials("?q=ALPHA")).toEqual(["F-none"]);
  expect(await serials("?q=f-")).toHaveLength(4);
  expect(await serials("?q=%25")).toEqual(["F-super"]);
  expect(await serials("?q=_")).toEqual(["F-pro"]);
  expect(await serials("?q=%5C")).toEqual([]);
  expect(await serials("?q=a&status=inactive&type=gateway")).toEqual(["F-off"]);
});

test("the cursor continues a filtered list", async () => {
  const account = await control.account();
  for (let index = 0; index < 10; index++) {
    await control.asset(account, { serialNumber: `P-${index}`, type: index % 2 ? "odd" : "even", createdAt: index });
  }
  const first = await list(apiClient(control, account), "?type=odd&limit=3");
  expect(first.assets).toHaveLength(3);
  const second = await list(apiClient(control, account), `?type=odd&limit=3&cursor=${first.next_cursor}`);
  expect(second.assets.map(({ serial_number }) => serial_number)).toEqual(["P-7", "P-9"]);
  expect(second.next_cursor).toBeNull();
});

test.each([
  ["limit=0", "limit"],
  ["limit=201", "limit"],
  ["limit=-1", "limit"],
  ["limit=1.5", "limit"],
  ["limit=1e2", "limit"],
  ["limit=", "limit"],
  ["limit=1&limit=2", "limit"],
  ["cursor=", "cursor"],
  ["cursor=nonsense", "cursor"],
  [`cursor=${"A".repeat(10_000)}`, "cursor"],
  ["status=on", "status"],
  ["status=", "status"],
  [`type=${"x".repeat(65)}`, "type"],
  ["q=", "q"],
  [`q=${"x".repeat(129)}`, "q"],
  ["order=asc", "order"],
])("refuses ?%s by name", async (query, field) => {
  const { status, body } = await apiClient(control, await control.account()).get(`/v1/assets?${query}`);
  expect(status).toBe(422);
  expect(body).toMatchObject({ code: "InvalidRequest", details: { issues: [{ path: field }] } });
});
