import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { MAX_RUNNING_PER_ASSET } from "../../src/control-plane/deployments/deployments.ts";
import { isFinal } from "../../src/protocol/deployments/deployment-event.ts";
import { apiClient } from "../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../support/control-plane.ts";
import { openStream } from "../support/event-stream.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { FakeDevice } from "../support/fake-device.ts";
import { waitFor } from "../support/wait-for.ts";

const LARGE = { name: "web", image: "web:1", command: Array.from({ length: 60 }, () => "x".repeat(4_000)) };
const DAY_MS = 24 * 3_600_000;

function deployTo(control: ControlPlane, account: TestAccount, uuid: string, body: unknown = LARGE) {
  return openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, { apiKey: account.apiKey, body });
}

/** The server's counters of an account, and the actual sums. */
function counted(control: ControlPlane, accountId: string) {
  using file = new DatabaseSync(control.databasePath, { readOnly: true });
  const row = file.prepare("SELECT stored_bytes, asset_count FROM accounts WHERE id = ?").get(accountId);
  const bytes = file
    .prepare(
      `SELECT coalesce(sum(octet_length(d.spec) + octet_length(d.options) + 512 + (SELECT coalesce(sum(octet_length(e.event)), 0)
         FROM deployment_events e WHERE e.deployment_id = d.id)), 0) AS bytes FROM deployments d WHERE d.account_id = ?`,
    )
    .get(accountId);
  const assets = file.prepare("SELECT count(*) AS count FROM assets WHERE account_id = ?").get(accountId);
  return {
    counter: [row?.["stored_bytes"], row?.["asset_count"]],
    truth: [bytes?.["bytes"], assets?.["count"]],
  };
}

test("an account stores no more than its quota, others are not affected, and retention frees space", async () => {
  const clock = new FakeClock();
  await using control = await startControlPlane({
    clock,
    config: { storage_mib_per_account: 2, deployment_retention_days: 1 },
  });
  const account = await control.account();
  const { uuid } = await control.asset(account);
  let accepted = 0;
  for (;;) {
    using stream = await deployTo(control, account, uuid);
    await stream.ended;
    if (stream.status !== 200) {
      expect(stream.status).toBe(429);
      expect(Number(stream.headers["retry-after"])).toBeGreaterThan(0);
      expect(stream.events).toMatchObject([
        {
          status: "Fail",
          code: "QuotaExceeded",
          deployment_id: "",
          details: { quota: "storage", limit_bytes: 2 * 1024 * 1024, kept_days: 1 },
        },
      ]);
      break;
    }
    expect(stream.events.at(-1)?.code).toBe("DeviceNotReachable");
    accepted++;
    expect(accepted).toBeLessThan(20);
  }
  expect(accepted).toBe(8);
  const { counter, truth } = counted(control, account.accountId);
  expect(counter).toEqual(truth);

  const other = await control.account();
  using theirs = await deployTo(control, other, (await control.asset(other)).uuid);
  expect(theirs.status).toBe(200);

  await clock.advance(2 * DAY_MS);
  await waitFor("room", async () => {
    await clock.advance(3_600_000);
    using stream = await deployTo(control, account, uuid);
    return stream.status === 200;
  });
});

test("a repeated request joins its deployment even if the quota is used up", async () => {
  await using control = await startControlPlane({ config: { storage_mib_per_account: 1 } });
  const account = await control.account();
  const asset = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  const repeat = () =>
    openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
      apiKey: account.apiKey,
      body: LARGE,
      headers: { "Idempotency-Key": "once" },
    });
  using first = await repeat();
  // It is under way: one that has failed since its device is away would be begun again.
  await device.next("deploy");
  const away = await control.asset(account);
  await waitFor("a full account", async () => {
    using stream = await deployTo(control, account, away.uuid);
    return stream.status === 429;
  });
  using again = await repeat();
  expect(again.status).toBe(200);
  expect(again.deploymentId).toBe(first.deploymentId);
});

test("a deployment running when the quota is used up ends with the device's final event, without progress events", async () => {
  await using control = await startControlPlane({ config: { storage_mib_per_account: 1 } });
  const account = await control.account();
  const asset = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  using stream = await deployTo(control, account, asset.uuid, { name: "web", image: "web:1" });
  const { deployment_id: id } = await device.next("deploy");
  const log = "x".repeat(20_000);
  for (let count = 0; count < 100; count++) device.event(id, { step: "pulling", details: { log } });
  device.success(id);
  expect(await stream.ended).toBe(true);
  const { events } = stream;
  expect(events.filter(isFinal)).toMatchObject([{ status: "Success" }]);
  expect(events.filter(({ details }) => details?.["events_left_out"] === "from here")).toHaveLength(1);
  const shown = events.filter(({ message }) => message === "Working.").length;
  expect(events.at(-1)?.details).toEqual({ events_left_out: 100 - shown });
  expect(Number(counted(control, account.accountId).counter[0])).toBeLessThan(1.2 * 1024 * 1024);
});

test("the number of a device's pending deployments is limited", async () => {
  await using control = await startControlPlane();
  const account = await control.account();
  const asset = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  const ids: string[] = [];
  for (let count = 0; count < MAX_RUNNING_PER_ASSET; count++) {
    using stream = await deployTo(control, account, asset.uuid, { name: `app-${count}`, image: "web:1" });
    expect(stream.status).toBe(200);
    ids.push(stream.deploymentId);
  }
  using refused = await deployTo(control, account, asset.uuid, { name: "one-more", image: "web:1" });
  expect(refused.status).toBe(429);
  await waitFor("the refusal", () => refused.events.length === 1);
  expect(refused.events).toMatchObject([
    { code: "TooManyRequests", deployment_id: "", details: { limit: MAX_RUNNING_PER_ASSET } },
  ]);
  device.success(ids[0] ?? "");
  await waitFor("room", async () => {
    using stream = await deployTo(control, account, asset.uuid, { name: "one-more", image: "web:1" });
    return stream.status === 200;
  });
});

test("the number of an account's assets is limited, and a removal allows another", async () => {
  await using control = await startControlPlane({ config: { max_assets_per_account: 3 } });
  const account = await control.account();
  const api = apiClient(control, account);
  const register = (serial: string) => api.post("/v1/assets", { serial_number: serial });
  for (const serial of ["A", "B", "C"]) expect((await register(serial)).status).toBe(201);
  const refused = await register("D");
  expect(refused).toMatchObject({
    status: 429,
    body: { code: "QuotaExceeded", details: { quota: "assets", used: 3, limit: 3 } },
  });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await apiClient(control, await control.account()).post("/v1/assets", { serial_number: "D" })).status).toBe(
    201,
  );
  expect((await api.delete("/v1/assets/A")).status).toBe(204);
  expect((await register("E")).status).toBe(201);
  const { counter, truth } = counted(control, account.accountId);
  expect(counter).toEqual(truth);
});
