import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { groupAlert, openAlert } from "../../support/alerts/open-alert.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const NOW = 1_800_000_000;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
let asset: Awaited<ReturnType<ControlPlane["asset"]>>;
let [disk, offline, over]: string[] = [];
// Nothing is judged while the clock stands still: the alerts stay as the tests make them.
beforeAll(async () => {
  control = await startControlPlane({ clock: new FakeClock(NOW * 1000) });
  account = await control.account();
  api = apiClient(control, account);
  asset = await control.asset(account);
  const subject = { kind: "asset", id: asset.uuid, name: "GW-1" } as const;
  const at = (s: number) => ({ sinceMs: (NOW + s) * 1000, firedAtMs: (NOW + s) * 1000 });
  const isOffline = { condition: "device_offline", severity: "critical" } as const;
  over = await openAlert(control, account, { ...isOffline, subject, ...at(0) });
  const { alerts } = control.store;
  await alerts.change(account.accountId, [{ kind: "resolve", id: over }], [], (NOW + 5) * 1000);
  disk = await openAlert(control, account, { condition: "disk_low", severity: "warning", subject, ...at(1) });
  offline = await openAlert(control, account, { ...isOffline, ...at(2) });
  await openAlert(control, account, { condition: "app_missing", state: "pending", firedAtMs: undefined });
  await openAlert(control, await control.account());
});
afterAll(() => control[Symbol.asyncDispose]());

const ids = async (query = "", client = api) => {
  const { status, body } = await client.get(`/v1/alerts${query}`);
  expect(status).toBe(200);
  return (body["alerts"] as { id: string }[]).map(({ id }) => id);
};

test("alerts of the account are listed newest first, those that fire or those that are over", async () => {
  const { body } = await api.get("/v1/alerts?limit=1");
  expect(body["alerts"]).toEqual([
    {
      id: offline,
      condition: "device_offline",
      severity: "critical",
      state: "firing",
      subject: { kind: "asset", id: `${offline}-asset`, name: "GW-1" },
      since: NOW + 2,
      fired_at: NOW + 2,
      resolved_at: null,
      usual_pause_s: null,
      acknowledged_at: null,
      acknowledged_by: null,
      group_ids: [],
    },
  ]);
  expect(body).toMatchObject({ firing: 2, unacknowledged: 2 });
  expect(await ids(`?limit=1&cursor=${String(body["next_cursor"])}`)).toEqual([disk]);
  expect(await ids()).toEqual([offline, disk]);
  expect(await ids("?state=resolved")).toEqual([over]);
});

test("they are filtered by condition, severity, asset and group", async () => {
  expect(await ids("?condition=disk_low")).toEqual([disk]);
  expect(await ids("?severity=critical")).toEqual([offline]);
  expect(await ids(`?asset=${asset.asset.serialNumber}`)).toEqual([disk]);
  expect(await ids(`?asset=${asset.uuid.toUpperCase()}&state=resolved`)).toEqual([over]);
  for (const query of ["?asset=nothing", "?asset=%00", `?asset=${randomUUID()}`, "?group=grp_0"])
    expect(await ids(query)).toEqual([]);
  await api.put(`/v1/assets/${asset.uuid}/tags`, { role: "kiosk" });
  expect(await ids("?selector=role%3Dkiosk")).toEqual([disk]);
  expect(await ids("?selector=*")).toEqual([offline, disk]);
  for (const query of ["?state=pending", "?cursor=MQ", "?group=x", "?condition=none", "?selector=,"])
    expect((await api.get(`/v1/alerts${query}`)).status).toBe(422);
});

test("an alert is acknowledged once, by whom the list shows, with an entry in the audit log", async () => {
  const path = `/v1/alerts/${disk}/acknowledge`;
  const { status, body } = await api.post(path);
  expect(status).toBe(200);
  expect(body).toMatchObject({ id: disk, acknowledged_at: NOW, acknowledged_by: expect.any(String) as string });
  expect((await api.post(path)).body).toEqual(body);
  const { body: log } = await api.get("/v1/audit?action=alert.acknowledged");
  expect(log["entries"]).toMatchObject([
    { asset_id: asset.uuid, subject: { kind: "alert", id: disk }, details: { alerts: 1, count: 1 }, outcome: "ok" },
  ]);
  expect((await api.post(`/v1/alerts/${over}/acknowledge`)).body).toMatchObject({ acknowledged_at: null });
});

test("all that a message is about is acknowledged by its group, with one entry", async () => {
  const alert = await openAlert(control, account, { condition: "app_missing" });
  const group = await groupAlert(control, account, alert);
  const path = `/v1/alert-groups/${group}/acknowledge`;
  expect((await api.post(path)).body).toEqual({ acknowledged: 1 });
  expect((await api.post(path)).body).toEqual({ acknowledged: 0 });
  const { body: listed } = await api.get(`/v1/alerts?group=${group}`);
  expect(listed).toMatchObject({ alerts: [{ id: alert, group_ids: [group] }] });
  expect(await ids(`?group=${group}`)).toEqual([alert]);
  const { body: log } = await api.get("/v1/audit?action=alert.acknowledged&limit=1");
  expect(log["entries"]).toMatchObject([{ details: { group, count: 1 } }]);
  const stranger = apiClient(control, await control.account());
  for (const other of [path, "/v1/alert-groups/grp_none/acknowledge", "/v1/alert-groups/%00/acknowledge"]) {
    const { status, body } = await stranger.post(other);
    expect([status, body["code"]]).toEqual([404, "AlertGroupNotFound"]);
  }
});

test("alerts of others, and those that nobody is told of, are not there", async () => {
  const stranger = apiClient(control, await control.account());
  expect(await ids("", stranger)).toEqual([]);
  for (const id of [disk, "alr_none", "%00"]) {
    const { status, body } = await stranger.post(`/v1/alerts/${id}/acknowledge`);
    expect([status, body["code"]]).toEqual([404, "AlertNotFound"]);
  }
  const viewer = apiClient(control, await control.key(account, [], { role: "viewer" }));
  expect(await ids("?limit=1", viewer)).toEqual([offline]);
  expect((await viewer.post(`/v1/alerts/${offline}/acknowledge`)).status).toBe(403);
});
