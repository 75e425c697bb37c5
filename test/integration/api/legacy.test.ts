import { afterEach, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const REMOVAL = Date.parse("2026-09-01T00:00:00Z");
const HEADERS = {
  deprecation: "@1772323200",
  sunset: "Tue, 01 Sep 2026 00:00:00 GMT",
};

interface World extends AsyncDisposable {
  readonly control: ControlPlane;
  readonly account: TestAccount;
  readonly api: ApiClient;
  readonly asset: TestAsset;
  readonly sim: { readonly sid: string; readonly iccid: string };
}

let world: World | undefined;
afterEach(async () => {
  await world?.[Symbol.asyncDispose]();
  world = undefined;
});

async function at(timeMs: number, removal?: string): Promise<World> {
  const control = await startControlPlane({
    clock: new FakeClock(timeMs),
    config: removal === undefined ? {} : { legacy_removal_at: removal },
  });
  const account = await control.account();
  const supersim = someSuperSim({ status: "inactive" });
  const asset = await control.asset(account, { supersim, prosim: someProSim() });
  world = {
    control,
    account,
    api: apiClient(control, account),
    asset,
    sim: { sid: supersim.sid, iccid: supersim.iccid },
    [Symbol.asyncDispose]: () => control[Symbol.asyncDispose](),
  };
  return world;
}

test("until the last millisecond before: details have sim and network_group, and the headers say so", async () => {
  const { api, asset, sim } = await at(REMOVAL - 1);
  const { body, headers } = await api.get(`/v1/assets/${asset.uuid}`);
  expect(body).toMatchObject({
    status: "active",
    supersim: { ...sim, network_group: "default_1gb" },
    sim: { ...sim, network_group: "default_1gb", status: "inactive" },
    network_group: "default_1gb",
  });
  expect(Object.fromEntries(headers)).toMatchObject({
    ...HEADERS,
    link: `</v1/assets/${asset.uuid}>; rel="successor-version"`,
  });
});

test("until then: list items have sim but no network_group, and the headers say so", async () => {
  const { api, sim } = await at(REMOVAL - 1);
  const { body, headers } = await api.get("/v1/assets");
  const [item] = body["assets"] as object[];
  expect(item).toMatchObject({ sim: { ...sim, network_group: "default_1gb", status: "inactive" } });
  expect(item).not.toHaveProperty("network_group");
  expect(Object.fromEntries(headers)).toMatchObject({ ...HEADERS, link: '</v1/assets>; rel="successor-version"' });
});

test("until then: an answer without a deprecated field has no headers for it", async () => {
  const { api, account, control } = await at(REMOVAL - 1);
  const { uuid } = await control.asset(account, { prosim: someProSim() });
  const { body, headers } = await api.get(`/v1/assets/${uuid}`);
  expect(body).not.toHaveProperty("sim");
  expect(headers.has("deprecation")).toBe(false);
});

test("until then: the mirrors show what an update changed", async () => {
  const { api, asset } = await at(REMOVAL - 1);
  const { body } = await api.patch(`/v1/assets/${asset.uuid}`, {
    status: "active",
    supersim: { network_group: "default_10gb" },
  });
  expect(body).toMatchObject({
    sim: { status: "active", network_group: "default_10gb" },
    network_group: "default_10gb",
    supersim: { network_group: "default_10gb" },
  });
});

test.each(["", "/v1"])("until then: PATCH %s/assets/{asset_id}/sim acts on the Super SIM", async (prefix) => {
  const { api, asset, sim, control, account } = await at(REMOVAL - 1);
  const { status, body, headers } = await api.patch(`${prefix}/assets/${asset.uuid}/sim`, {
    status: "active",
    network_group: "default_100mb",
  });
  expect(status).toBe(200);
  expect(body).toEqual({ ...sim, network_group: "default_100mb", status: "active" });
  expect(Object.fromEntries(headers)).toMatchObject({
    ...HEADERS,
    link: `</v1/assets/${asset.uuid}>; rel="successor-version"`,
  });
  await api.patch(`${prefix}/assets/${asset.uuid}/sim`, { status: "inactive" });
  const stored = await control.store.assets.findAsset(account.accountId, asset.uuid);
  expect([stored?.supersim?.status, stored?.prosim?.status]).toEqual(["inactive", "active"]);
});

test.each([
  [{}, 422, "InvalidRequest"],
  [{ fleet: "x" }, 422, "InvalidRequest"],
  [{ name: "x" }, 422, "InvalidRequest"],
  [{ status: "on" }, 422, "InvalidRequest"],
  [{ network_group: "nowhere" }, 422, "UnknownNetworkGroup"],
])("until then: Update SIM refuses %j", async (update, status, code) => {
  const { api, asset } = await at(REMOVAL - 1);
  const answer = await api.patch(`/assets/${asset.uuid}/sim`, update);
  expect([answer.status, answer.body["code"]]).toEqual([status, code]);
});

test.each(["", "/v1"])(
  "until then: GET %s/assets/{asset_id}/sim/usages mirrors the Super SIM's usage",
  async (prefix) => {
    const { api, asset } = await at(REMOVAL - 1);
    const query = "?start_time=1785542400&end_time=1788220800&granularity=day";
    const legacy = await api.get(`${prefix}/assets/${asset.uuid}/sim/usages${query}`);
    expect(legacy.status).toBe(200);
    expect(legacy.body).toEqual((await api.get(`/v1/assets/${asset.uuid}/sims/supersim/usages${query}`)).body);
    expect(Object.fromEntries(legacy.headers)).toMatchObject({
      ...HEADERS,
      link: `</v1/assets/${asset.uuid}/sims/supersim/usages>; rel="successor-version"`,
    });
  },
);

test("until then: an asset without a Super SIM has nothing to mirror", async () => {
  const { api, account, control } = await at(REMOVAL - 1);
  const { uuid } = await control.asset(account, { prosim: someProSim() });
  const update = await api.patch(`/assets/${uuid}/sim`, { status: "active" });
  expect([update.status, update.body["code"]]).toEqual([404, "SimNotFound"]);
  const usage = await api.get(`/assets/${uuid}/sim/usages`);
  expect([usage.status, usage.body["code"]]).toEqual([404, "SimNotFound"]);
});

test("after the removal time there are neither legacy fields nor headers", async () => {
  const { api, asset } = await at(REMOVAL);
  for (const path of [`/v1/assets/${asset.uuid}`, "/v1/assets"]) {
    const { body, headers } = await api.get(path);
    const shown = (body["assets"] as object[] | undefined)?.[0] ?? body;
    expect(shown).toHaveProperty("supersim");
    expect(shown).not.toHaveProperty("sim");
    expect(shown).not.toHaveProperty("network_group");
    expect(headers.has("deprecation") || headers.has("sunset")).toBe(false);
  }
});

test.each(["", "/v1"])(
  "from the instant on: the endpoints under %s/ answer 410 and name the replacement",
  async (prefix) => {
    const { api, asset, control, account } = await at(REMOVAL);
    const update = await api.patch(`${prefix}/assets/${asset.uuid}/sim`, { status: "active" });
    expect(update.status).toBe(410);
    expect(update.body).toEqual({
      code: "EndpointRemoved",
      message: `This endpoint was removed on 2026-09-01. Use PATCH /v1/assets/${asset.uuid} instead.`,
      details: { replacement: { method: "PATCH", path: `/v1/assets/${asset.uuid}` } },
    });
    const usage = await api.get(`${prefix}/assets/${asset.uuid}/sim/usages?start_time=nonsense`);
    expect(usage.status).toBe(410);
    expect(usage.body["message"]).toContain(`GET /v1/assets/${asset.uuid}/sims/supersim/usages`);
    expect(usage.headers.get("link")).toContain("successor-version");
    const stored = await control.store.assets.findAsset(account.accountId, asset.uuid);
    expect(stored?.supersim?.status).toBe("inactive");
  },
);

test("after the removal time an endpoint does not reveal whether an asset exists", async () => {
  const { api, asset } = await at(REMOVAL);
  const [known, unknown] = await Promise.all([asset.uuid, "nothing"].map((id) => api.get(`/assets/${id}/sim/usages`)));
  expect([known?.status, unknown?.status]).toEqual([410, 410]);
});

test("the instant can be set: a fresh installation shows legacy only if configured to", async () => {
  const now = Date.parse("2027-01-15T12:00:00Z");
  const later = await at(now, "2028-01-01T01:00:00+01:00");
  const { body, headers } = await later.api.get(`/v1/assets/${later.asset.uuid}`);
  expect(body).toHaveProperty("sim");
  expect(headers.get("sunset")).toBe("Sat, 01 Jan 2028 00:00:00 GMT");
  await later[Symbol.asyncDispose]();
  const fresh = await at(now);
  expect((await fresh.api.get(`/v1/assets/${fresh.asset.uuid}`)).body).not.toHaveProperty("sim");
});
