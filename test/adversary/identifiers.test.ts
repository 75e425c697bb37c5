import { expect, test } from "vitest";
import { MAX_CONFLICTS_PER_HOUR } from "../../src/control-plane/assets/conflict-rate-limiter.ts";
import { apiClient } from "../support/api-client.ts";
import { captureLogText } from "../support/captured-log.ts";
import { startControlPlane } from "../support/control-plane.ts";
import { FakeClock } from "../support/fake-clock.ts";

const supersim = (number: number) => ({ sid: `HS${number}`, iccid: `89${number}`, network_group: "default_1gb" });

test("a refusal does not reveal whether an identifier is the caller's, another account's, or repeated in the asset", async () => {
  const log = captureLogText();
  await using control = await startControlPlane({ logger: log.logger });
  const mine = await control.account();
  const api = apiClient(control, mine);
  const holder = await control.account();
  const held = await apiClient(control, holder).post("/v1/assets", { serial_number: "THEIRS", supersim: supersim(1) });
  await api.post("/v1/assets", { serial_number: "MINE", supersim: supersim(2) });

  const foreign = await api.post("/v1/assets", { serial_number: "NEW-1", supersim: supersim(1) });
  const own = await api.post("/v1/assets", { serial_number: "NEW-2", supersim: supersim(2) });
  const twice = await api.post("/v1/assets", { serial_number: "HS3", supersim: supersim(3) });
  expect(foreign.status).toBe(409);
  expect(foreign.body).toEqual(own.body);
  expect(foreign.body).toEqual(twice.body);
  expect(JSON.stringify(foreign.body)).not.toMatch(/belong|another|account/i);
  expect([...foreign.headers.keys()].toSorted()).toEqual([...own.headers.keys()].toSorted());

  const foreignSerial = await api.post("/v1/assets", { serial_number: "THEIRS" });
  const ownSerial = await api.post("/v1/assets", { serial_number: "MINE" });
  expect(foreignSerial.body).toEqual(ownSerial.body);

  // The log shows the conflicting asset.
  const lines = log.text().split("\n");
  const disputes = lines.filter((line) => line.includes("identifier refused")).map((line) => JSON.parse(line));
  expect(disputes).toMatchObject([
    { account_id: mine.accountId, field: "supersim.sid", identifier: "HS1", holder_account_id: holder.accountId },
    { account_id: mine.accountId, field: "serial_number", identifier: "THEIRS", holder_asset: held.body["uuid"] },
  ]);
});

test("many conflicting registrations are rate-limited, and repeated registrations of own assets are not", async () => {
  const clock = new FakeClock();
  await using control = await startControlPlane({ clock });
  const holder = apiClient(control, await control.account());
  const api = apiClient(control, await control.account());
  for (let number = 0; number < MAX_CONFLICTS_PER_HOUR + 5; number++) {
    await holder.post("/v1/assets", { serial_number: `THEIRS-${number}` });
  }
  await api.post("/v1/assets", { serial_number: "MINE" });
  for (let count = 0; count < 100; count++) {
    expect((await api.post("/v1/assets", { serial_number: "MINE" })).status).toBe(409);
  }
  for (let number = 0; number < MAX_CONFLICTS_PER_HOUR; number++) {
    expect((await api.post("/v1/assets", { serial_number: `THEIRS-${number}` })).status).toBe(409);
  }
  for (const serial of [`THEIRS-${MAX_CONFLICTS_PER_HOUR}`, "MINE", "FREE"]) {
    const answer = await api.post("/v1/assets", { serial_number: serial });
    expect(answer).toMatchObject({ status: 429, body: { code: "TooManyRequests" } });
    expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(60);
  }
  expect((await holder.post("/v1/assets", { serial_number: "ANOTHER" })).status).toBe(201);
  await clock.advance(3_600_000);
  expect((await api.post("/v1/assets", { serial_number: "FREE" })).status).toBe(201);
});

test("an asset of another account gets the same response as a missing one on every route", async () => {
  await using control = await startControlPlane();
  const holder = await control.account();
  await apiClient(control, holder).post("/v1/assets", { serial_number: "THEIRS", supersim: supersim(1) });
  const api = apiClient(control, await control.account());
  const paths = ["", "/edge/apps", "/edge/apps/web", "/edge/device", "/edge/deployments", "/sims/supersim/usages"];
  for (const path of paths) {
    for (const identifier of ["THEIRS", "HS1", "891"]) {
      const foreign = await api.get(`/v1/assets/${identifier}${path}`);
      const absent = await api.get(`/v1/assets/NOBODYS${path}`);
      expect(foreign.body).toEqual(absent.body);
      expect(foreign.status).toBe(404);
    }
  }
  expect((await api.delete("/v1/assets/THEIRS")).status).toBe(404);
  expect((await api.patch("/v1/assets/THEIRS", { name: "x" })).status).toBe(404);
});
