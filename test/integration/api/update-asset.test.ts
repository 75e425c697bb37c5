import { afterAll, beforeAll, expect, test } from "vitest";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  api = apiClient(control, account);
});
afterAll(() => control[Symbol.asyncDispose]());

test("sets the display name and returns the updated asset", async () => {
  const { uuid } = await control.asset(account, { name: "Old" });
  const { status, body } = await api.patch(`/v1/assets/${uuid}`, { name: "New" });
  expect(status).toBe(200);
  expect(body).toMatchObject({ uuid, name: "New", status: "inactive" });
  expect((await api.get(`/v1/assets/${uuid}`)).body).toEqual(body);
});

test.each([
  ["both SIMs", true, true],
  ["a Super SIM", true, false],
  ["a PRO SIM", false, true],
])("a status goes to all SIMs: %s", async (_what, hasSuper, hasPro) => {
  const { uuid } = await control.asset(account, {
    ...(hasSuper && { supersim: someSuperSim({ status: "inactive" }) }),
    ...(hasPro && { prosim: someProSim() }),
  });
  for (const status of ["inactive", "inactive", "active", "active"] as const) {
    expect((await api.patch(`/v1/assets/${uuid}`, { status })).body).toMatchObject({ status });
    const stored = await control.store.assets.findAsset(account.accountId, uuid);
    expect([stored?.supersim?.status, stored?.prosim?.status]).toEqual([
      hasSuper ? status : undefined,
      hasPro ? status : undefined,
    ]);
  }
});

test.each(["default_100mb", "default_1gb", "default_10gb", "default_unlimited"])(
  "sets the network group %s, which every account has",
  async (network_group) => {
    const { uuid } = await control.asset(account, { supersim: someSuperSim() });
    const { status, body } = await api.patch(`/v1/assets/${uuid}`, { supersim: { network_group } });
    expect(status).toBe(200);
    expect(body).toMatchObject({ supersim: { network_group } });
    expect(body).not.toHaveProperty("network_group");
  },
);

test("sets a network group of the account's own, and of no other account", async () => {
  const { uuid } = await control.asset(account, { supersim: someSuperSim() });
  const other = await control.account();
  await control.store.networkGroups.addNetworkGroup(other.accountId, "theirs");
  await control.store.networkGroups.addNetworkGroup(account.accountId, "ours");
  const ours = await api.patch(`/v1/assets/${uuid}`, { supersim: { network_group: "ours" } });
  expect(ours.body).toMatchObject({ supersim: { network_group: "ours" } });
  const theirs = await api.patch(`/v1/assets/${uuid}`, { supersim: { network_group: "theirs" } });
  expect(theirs.status).toBe(422);
  expect(theirs.body).toMatchObject({ code: "UnknownNetworkGroup" });
});

test("any of the identifiers names the asset to update", async () => {
  const supersim = someSuperSim();
  const prosim = someProSim();
  const { uuid, asset } = await control.asset(account, { supersim, prosim });
  const ids = [uuid, uuid.toUpperCase(), asset.serialNumber, supersim.sid, supersim.iccid, prosim.iccid];
  for (const [index, id] of ids.entries()) {
    expect((await api.patch(`/v1/assets/${id}`, { name: `By ${index}` })).body).toMatchObject({ name: `By ${index}` });
  }
});

test.each([
  ["a status without a SIM", {}, { status: "active" }, 409, "AssetHasNoSim"],
  ["a group without a Super SIM", { prosim: true }, { supersim: { network_group: "default_1gb" } }, 404, "SimNotFound"],
  ["an unknown group", { supersim: true }, { supersim: { network_group: "nowhere" } }, 422, "UnknownNetworkGroup"],
  ["the field fleet", { supersim: true }, { fleet: "default_1gb" }, 422, "InvalidRequest"],
  ["a PRO SIM property", { prosim: true }, { prosim: { service_profile: "x" } }, 422, "InvalidRequest"],
  ["an unknown field", { supersim: true }, { colour: "red" }, 422, "InvalidRequest"],
  ["a wrong status", { supersim: true }, { status: "asleep" }, 422, "InvalidRequest"],
  ["a wrong name", { supersim: true }, { name: 7 }, 422, "InvalidRequest"],
  ["null for a field", { supersim: true }, { supersim: null }, 422, "InvalidRequest"],
])("all or nothing: %s beside a good name changes nothing", async (_what, sims, wrong, status, code) => {
  const { uuid } = await control.asset(account, {
    name: "Before",
    ...("supersim" in sims && { supersim: someSuperSim() }),
    ...("prosim" in sims && { prosim: someProSim() }),
  });
  const before = await api.get(`/v1/assets/${uuid}`);
  const answer = await api.patch(`/v1/assets/${uuid}`, { name: "After", ...wrong });
  expect(answer.status).toBe(status);
  expect(answer.body).toMatchObject({ code });
  expect((await api.get(`/v1/assets/${uuid}`)).body).toEqual(before.body);
});

test("fleet and PRO SIM properties are refused with the reason and the replacement", async () => {
  const { uuid } = await control.asset(account, { supersim: someSuperSim(), prosim: someProSim() });
  const fleet = await api.patch(`/v1/assets/${uuid}`, { fleet: "default_1gb" });
  expect(fleet.body["message"]).toBe(
    "The request is not valid: fleet: is no longer supported; use supersim.network_group, which replaces it",
  );
  const prosim = await api.patch(`/v1/assets/${uuid}`, { prosim: { service_profile: "silver" } });
  expect(prosim.body["message"]).toBe(
    "The request is not valid: prosim: PRO SIM properties cannot be updated; name, type, status and supersim.network_group can",
  );
});

test.each([[{}], [{ supersim: {} }]])("the empty update %j is refused", async (body) => {
  const { uuid } = await control.asset(account, { supersim: someSuperSim() });
  const answer = await api.patch(`/v1/assets/${uuid}`, body);
  expect(answer.status).toBe(422);
  expect(answer.body["message"]).toContain("nothing to update");
});

test("an asset of another account is not found, whatever is to be updated", async () => {
  const stranger = await control.account();
  const { uuid } = await control.asset(stranger, { supersim: someSuperSim(), name: "Theirs" });
  for (const body of [{ name: "Mine" }, { status: "inactive" }, { supersim: { network_group: "nowhere" } }]) {
    const answer = await api.patch(`/v1/assets/${uuid}`, body);
    expect([answer.status, answer.body]).toEqual([404, { code: "AssetNotFound", message: "Asset not found" }]);
  }
  expect((await apiClient(control, stranger).get(`/v1/assets/${uuid}`)).body).toMatchObject({
    name: "Theirs",
    status: "active",
  });
});
