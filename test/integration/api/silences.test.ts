import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_SILENCES } from "../../../src/control-plane/store/alerts.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const NOW = 1_800_000_000;
const HOUR = 3600;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
const clock = new FakeClock(NOW * 1000);
beforeAll(async () => {
  control = await startControlPlane({ clock });
  account = await control.account();
  api = apiClient(control, account);
});
afterAll(() => control[Symbol.asyncDispose]());

const create = (fields: object, client = api) =>
  client.post("/v1/silences", { reason: "Works", until: NOW + HOUR, ...fields });
const reasons = async (client = api) => {
  const { body } = await client.get("/v1/silences");
  return (body["silences"] as { reason: string }[]).map(({ reason }) => reason);
};

test("a silence is created, listed to its own account until it is ended, and is in the audit log", async () => {
  const { status, body } = await create({ reason: "Pump", selector: "site=7", conditions: ["disk_low", "disk_low"] });
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.stringMatching(/^sil_[0-9a-f]{24}$/) as string,
    reason: "Pump",
    selector: "site=7",
    asset: null,
    conditions: ["disk_low"],
    created_at: NOW,
    created_by: expect.any(String) as string,
    until: NOW + HOUR,
  });
  await create({ reason: "All", until: NOW + 60 });
  expect((await reasons()).toSorted()).toEqual(["All", "Pump"]);
  const { body: first } = await api.get("/v1/silences?limit=1");
  const { body: second } = await api.get(`/v1/silences?limit=1&cursor=${String(first["next_cursor"])}`);
  expect([first["silences"], second["silences"], second["next_cursor"]]).toMatchObject([[{}], [{}], null]);

  const stranger = apiClient(control, await control.account());
  expect(await reasons(stranger)).toEqual([]);
  const path = `/v1/silences/${String(body["id"])}`;
  for (const [client, other] of [
    [stranger, path] as const,
    [api, "/v1/silences/sil_none"] as const,
    [api, "/v1/silences/%00"] as const,
  ])
    expect([(await client.delete(other)).status, (await client.delete(other)).body["code"]]).toEqual([
      404,
      "SilenceNotFound",
    ]);
  const viewer = apiClient(control, await control.key(account, [], { role: "viewer" }));
  expect(await reasons(viewer)).toHaveLength(2);
  expect([(await create({}, viewer)).status, (await viewer.delete(path)).status]).toEqual([403, 403]);

  expect((await api.delete(path)).status).toBe(204);
  expect(await reasons()).toEqual(["All"]);
  const { body: log } = await api.get("/v1/audit?action=silence.");
  const entries = log["entries"] as { outcome: string }[];
  expect(entries.filter(({ outcome }) => outcome === "ok")).toMatchObject([
    { action: "silence.ended", subject: { kind: "silence", name: "Pump" } },
    { action: "silence.created", details: { reason: "All", selector: "*", until: NOW + 60 } },
    { action: "silence.created", details: { reason: "Pump", conditions: ["disk_low"] } },
  ]);
});

test.each([
  [{ until: NOW + 59 }, "until"],
  [{ until: NOW - 1 }, "until"],
  [{ until: NOW + 366 * 24 * HOUR + 1 }, "until"],
  [{ reason: "" }, "reason"],
  [{ reason: "x".repeat(257) }, "reason"],
  [{ reason: "a\u202Eb" }, "reason"],
  [{ selector: "" }, "selector"],
  [{ conditions: [] }, "conditions"],
  [{ conditions: ["none"] }, "conditions"],
  [{ for_s: 60 }, "for_s"],
  [{ asset: "" }, "asset"],
  [{ asset: "GW-1", selector: "site=7" }, "exclude each other"],
])("%j is refused by its name", async (fields, name) => {
  const { status, body } = await create(fields);
  expect([status, JSON.stringify(body)]).toEqual([422, expect.stringContaining(name)]);
});

test("one asset is silenced by any of its identifiers, and its silences are listed by them", async () => {
  const own = await control.account();
  const client = apiClient(control, own);
  const pump = await control.asset(own, { serialNumber: "PUMP-1", name: "Pump house" });
  const other = await control.asset(own, { serialNumber: "PUMP-2" });
  expect((await client.patch(`/v1/assets/${other.uuid}/tags`, { site: "7" })).status).toBe(200);
  const { status, body } = await create({ reason: "Pump", asset: "PUMP-1" }, client);
  expect([status, body["asset"], body["selector"]]).toEqual([201, { id: pump.uuid, name: "Pump house" }, "*"]);
  await create({ reason: "Site", selector: "site=7" }, client);
  await create({ reason: "Everything", conditions: ["disk_low"] }, client);
  const of = async (identifier: string) => {
    const { body: list } = await client.get(`/v1/silences?asset=${identifier}`);
    return (list["silences"] as { reason: string }[]).map(({ reason }) => reason).toSorted();
  };
  expect([await of(pump.uuid), await of("PUMP-1")]).toEqual([
    ["Everything", "Pump"],
    ["Everything", "Pump"],
  ]);
  expect([await of("PUMP-2"), await of("NOWHERE")]).toEqual([["Everything", "Site"], []]);
  // Not another account's.
  const refused = [await create({ asset: "PUMP-1" }), await create({ asset: "NOWHERE" }, client)];
  expect(refused.map(({ status: code, body: { code: name } }) => [code, name])).toEqual([
    [404, "AssetNotFound"],
    [404, "AssetNotFound"],
  ]);
  const { body: log } = await client.get(`/v1/audit?action=silence.&asset=${pump.uuid}`);
  expect(log["entries"]).toMatchObject([{ action: "silence.created", details: { asset: "Pump house" } }]);
  expect((await client.delete(`/v1/assets/${pump.uuid}`)).status).toBeLessThan(300);
  expect(await reasons(client)).not.toContain("Pump");
});

test("an account has a maximum of silences that have not ended", async () => {
  const many = await control.account();
  const client = apiClient(control, many);
  const entry = {
    accountId: many.accountId,
    at: 1,
    actor: { kind: "service", id: "test" } as const,
    source: undefined,
  };
  const audit = { ...entry, action: "silence.created", assetUuid: "", app: "", outcome: "ok", details: {} } as const;
  const about = {
    conditions: undefined,
    selector: "*",
    asset: undefined,
    reason: "x",
    createdBy: "test",
    accountId: many.accountId,
  };
  for (let at = 0; at < MAX_SILENCES; at++) {
    const ends = { createdAtMs: NOW * 1000, endsAtMs: (NOW + 120) * 1000 };
    await control.store.alertSettings.createSilence({ ...about, ...ends, id: `sil_${at}` }, audit);
  }
  const { status, body } = await create({}, client);
  expect([status, body["code"]]).toEqual([429, "QuotaExceeded"]);
  expect(body["details"]).toMatchObject({ quota: "silences", limit: MAX_SILENCES });
  clock.pass(121_000);
  expect(await reasons(client)).toEqual([]);
  expect((await create({ until: NOW + HOUR }, client)).status).toBe(201);
});
