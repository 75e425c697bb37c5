import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import type { PostgresOptions } from "../../../src/control-plane/store/postgres/options.ts";
import { Browser } from "../../support/browser.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";

const reason = await postgresUnavailableReason();

describe.skipIf(reason !== undefined)(`people of two instances${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  let options: PostgresOptions;
  let here: ControlPlane;
  let there: ControlPlane;
  let account: TestAccount;

  beforeAll(async () => {
    databases = await PostgresDatabases.start();
  });
  afterAll(() => databases[Symbol.asyncDispose]());
  beforeEach(async () => {
    options = await databases.create();
    const start = async (): Promise<ControlPlane> => {
      const control = await startControlPlane({ openStore: () => openPostgresStore(options) });
      onTestFinished(() => control[Symbol.asyncDispose]());
      return control;
    };
    [here, there] = [await start(), await start()];
    account = await here.account();
  });

  test("a session is good at both; ending it at one ends its streams at the other", async () => {
    const admin = new Browser(here, (await here.session(account)).cookie);
    for (const end of ["sign-out", "role", "removal"] as const) {
      const { cookie, user } = await here.session(account, { role: "operator" });
      const asset = await here.asset(account);
      const stream = await openStream(`${there.url}/v1/assets/${asset.uuid}/edge/apps`, {
        headers: { Cookie: cookie, "Sec-Fetch-Site": "same-origin" },
        body: { name: "web", image: "registry.example.com/web:1", wait_for_device_s: 600 },
      });
      expect(stream.status).toBe(200);
      const path = `/v1/users/${user.id}`;
      if (end === "sign-out") await new Browser(here, cookie).call("DELETE", "/v1/session");
      else if (end === "role")
        expect(await admin.call("PATCH", path, { role: "viewer" })).toMatchObject({ status: 200 });
      else expect(await admin.call("DELETE", path)).toMatchObject({ status: 204 });
      expect(await new Browser(there, cookie).call("GET", "/v1/session")).toMatchObject({ status: 401 });
      await stream.ended;
      expect(stream.text).not.toContain("Success");
    }
  });

  test("two admins who demote each other at different instances leave one", async () => {
    for (let round = 0; round < 5; round++) {
      const { accountId } = await here.account();
      const owner = { accountId };
      const [first, second] = [await here.session(owner), await here.session(owner)];
      const responses = await Promise.all([
        new Browser(here, first.cookie).call("PATCH", `/v1/users/${second.user.id}`, { role: "viewer" }),
        new Browser(there, second.cookie).call("PATCH", `/v1/users/${first.user.id}`, { role: "viewer" }),
      ]);
      const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses[0]).toBe(200);
      expect([401, 409]).toContain(statuses[1]);
      const admins = (await here.store.users.listUsers(accountId)).filter(({ role }) => role === "admin");
      expect(admins).toHaveLength(1);
    }
  });

  test("a limited key is found at both", async () => {
    const { apiKey } = await here.key(account, [], { role: "viewer" });
    const headers = { "X-API-Key": apiKey };
    for (const { url } of [here, there]) {
      expect((await fetch(`${url}/v1/assets`, { headers })).status).toBe(200);
      expect((await fetch(`${url}/v1/users`, { headers })).status).toBe(403);
    }
  });
});
