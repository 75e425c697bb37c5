import { afterAll, beforeAll, expect, test } from "vitest";
import { SimOperatorError } from "../../../src/control-plane/sim-operator/sim-operator.ts";
import { StoredSimOperator } from "../../../src/control-plane/sim-operator/stored-sim-operator.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FailingSimOperator } from "../../support/control-plane/failing-sim-operator.ts";
import { someProSim, someSuperSim } from "../../support/control-plane/sims.ts";

let control: ControlPlane;
let operator: FailingSimOperator;
let account: TestAccount;
let api: ApiClient;
beforeAll(async () => {
  control = await startControlPlane({
    simOperator: (store) => (operator = new FailingSimOperator(new StoredSimOperator(store.usage))),
  });
  account = await control.account();
  api = apiClient(control, account);
});
afterAll(() => control[Symbol.asyncDispose]());

async function assetWithBoth() {
  const supersim = someSuperSim();
  const prosim = someProSim();
  const { uuid } = await control.asset(account, { name: "Before", supersim, prosim });
  return { uuid, supersim, prosim };
}

test("a failure midway is reported, the store has the actual state, and repeating the update finishes it", async () => {
  const { uuid, prosim } = await assetWithBoth();
  operator.fail(new RegExp(`deactivate ${prosim.iccid}`), 1);
  const update = { name: "After", status: "inactive", supersim: { network_group: "default_10gb" } };
  const answer = await api.patch(`/v1/assets/${uuid}`, update);
  expect(answer.status).toBe(502);
  expect(answer.body).toEqual({
    code: "SimOperatorFailed",
    message:
      "The SIM operator did not carry out the whole change; changed: supersim.network_group, supersim.status; " +
      "not changed: prosim.status, name.",
    details: {
      changed: ["supersim.network_group", "supersim.status"],
      not_changed: ["prosim.status", "name"],
      reason: "refused",
    },
  });
  const stored = await control.store.assets.findAsset(account.accountId, uuid);
  expect(stored).toMatchObject({
    name: "Before",
    supersim: { status: "inactive", networkGroup: "default_10gb" },
    prosim: { status: "active" },
  });
  expect((await api.get(`/v1/assets/${uuid}`)).body).toMatchObject({ name: "Before", status: "active" });
  const repeated = await api.patch(`/v1/assets/${uuid}`, update);
  expect(repeated.body).toMatchObject({ name: "After", status: "inactive" });
});

test("a failure of the first change changes nothing", async () => {
  const { uuid, supersim } = await assetWithBoth();
  operator.fail(new RegExp(`deactivate ${supersim.iccid}`), 1);
  const before = await api.get(`/v1/assets/${uuid}`);
  const answer = await api.patch(`/v1/assets/${uuid}`, { status: "inactive" });
  expect(answer.body).toMatchObject({ details: { changed: [], not_changed: ["supersim.status", "prosim.status"] } });
  expect(answer.body["message"]).toContain("nothing was changed");
  expect((await api.get(`/v1/assets/${uuid}`)).body).toEqual(before.body);
});

test("what may pass is tried again, up to three times", async () => {
  const { uuid, supersim } = await assetWithBoth();
  const busy = new SimOperatorError("busy", true);
  operator.fail(new RegExp(`setNetworkGroup ${supersim.iccid}`), 2, busy);
  const passed = await api.patch(`/v1/assets/${uuid}`, { supersim: { network_group: "default_100mb" } });
  expect(passed.status).toBe(200);
  expect(operator.calls.filter((call) => call.includes(supersim.iccid))).toHaveLength(3);

  operator.fail(new RegExp(`deactivate ${supersim.iccid}`), Infinity, busy);
  const failed = await api.patch(`/v1/assets/${uuid}`, { status: "inactive" });
  expect(failed.status).toBe(502);
  expect(operator.calls.filter((call) => call.includes(`deactivate ${supersim.iccid}`))).toHaveLength(3);
});

test("what an operator's program error says stays inside", async () => {
  const { uuid, supersim } = await assetWithBoth();
  operator.fail(new RegExp(`deactivate ${supersim.iccid}`), 1, new TypeError("secret of the operator"));
  const answer = await api.patch(`/v1/assets/${uuid}`, { status: "inactive" });
  expect(answer.status).toBe(502);
  expect(JSON.stringify(answer.body)).not.toContain("secret");
});

test("nothing that is refused reaches the operator", async () => {
  const { uuid, supersim, prosim } = await assetWithBoth();
  await api.patch(`/v1/assets/${uuid}`, { status: "inactive", supersim: { network_group: "nowhere" } });
  await api.patch(`/v1/assets/${uuid}`, { status: "inactive", fleet: "x" });
  await api.patch(`/v1/assets/${uuid}`, { name: "Only a name" });
  expect(operator.calls.filter((call) => call.includes(supersim.iccid) || call.includes(prosim.iccid))).toEqual([]);
});

test("updates of one asset are carried out one after the other: the store ends with what the operator did last", async () => {
  const { uuid, supersim, prosim } = await assetWithBoth();
  operator.beforeCall = () => new Promise((resolve) => setImmediate(resolve));
  const wishes = Array.from({ length: 12 }, (_, index) => (index % 2 ? "active" : "inactive"));
  await Promise.all(wishes.map((status) => api.patch(`/v1/assets/${uuid}`, { status })));
  const calls = operator.calls.filter((call) => call.includes(supersim.iccid) || call.includes(prosim.iccid));
  const pairs = Array.from({ length: 12 }, (_, index) => calls.slice(2 * index, 2 * index + 2));
  for (const [first, second] of pairs) expect(first?.split(" ")[0]).toBe(second?.split(" ")[0]);
  const last = calls.at(-1)?.startsWith("activate") ? "active" : "inactive";
  const stored = await control.store.assets.findAsset(account.accountId, uuid);
  expect([stored?.supersim?.status, stored?.prosim?.status]).toEqual([last, last]);
});

test("an operator that does not answer usage is a bad gateway", async () => {
  const { uuid, supersim } = await assetWithBoth();
  operator.fail(new RegExp(`readUsage ${supersim.iccid}`));
  const answer = await api.get(`/v1/assets/${uuid}/sims/supersim/usages`);
  expect([answer.status, answer.body["code"]]).toEqual([502, "SimOperatorFailed"]);
});
