import { expect, onTestFinished, test } from "vitest";
import { PasswordHasher } from "../../../src/control-plane/accounts/password-hasher.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { MAX_SESSIONS_PER_USER } from "../../../src/control-plane/store/user-sessions.ts";
import { Browser } from "../../support/browser.ts";
import {
  type ControlPlane,
  startControlPlane,
  type TestAccount,
  type TestSession,
} from "../../support/control-plane.ts";
import { QUICK_HASH, someAudit } from "../../support/control-plane/people.ts";
import { type EventStream, openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { RawStreamClient } from "../../support/raw-stream-client.ts";

interface Rig {
  readonly clock: FakeClock;
  readonly control: ControlPlane;
  readonly account: TestAccount;
  readonly admin: Browser;
  readonly uuid: string;
  readonly device: FakeDevice;
}

async function setUp(): Promise<Rig> {
  const clock = new FakeClock(Date.now());
  const control = await startControlPlane({ clock });
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account(["apps.forward"]);
  const { cookie } = await control.session(account);
  const { uuid, deviceToken } = await control.asset(account);
  const device = await FakeDevice.connect(control.agentUrl, deviceToken);
  onTestFinished(() => device[Symbol.asyncDispose]());
  return { clock, control, account, admin: new Browser(control, cookie), uuid, device };
}

type Credentials = Readonly<Record<string, string>>;

/** The log of an app, followed. */
async function followLog({ control, uuid, device }: Rig, headers: Credentials): Promise<EventStream> {
  const opening = openStream(`${control.url}/v1/assets/${uuid}/edge/apps/web/logs?follow=true`, { headers });
  const { query_id: id } = await device.next("query");
  device.answer(id, { lines: [] });
  return opening;
}

/** The events of a deployment that does not end. */
async function followDeployment({ control, account, uuid }: Rig, headers: Credentials): Promise<EventStream> {
  const other = await control.asset(account);
  const deploying = await openStream(`${control.url}/v1/assets/${other.uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: { name: `web-${uuid.slice(0, 8)}`, image: "registry.example.com/web:1", wait_for_device_s: 600 },
  });
  const id = String(deploying.headers["deployment-id"]);
  deploying[Symbol.dispose]();
  return openStream(`${control.url}/v1/assets/${other.uuid}/edge/deployments/${id}/events`, { headers });
}

/** Ways in which a person loses access, in this process or another. */
const ENDINGS: Readonly<Record<string, (rig: Rig, session: TestSession) => Promise<void>>> = {
  "is signed out": async ({ control }, { cookie }) => {
    expect(await new Browser(control, cookie).call("DELETE", "/v1/session")).toMatchObject({ status: 204 });
  },
  "is demoted": async ({ admin }, { user }) => {
    expect(await admin.call("PATCH", `/v1/users/${user.id}`, { role: "viewer" })).toMatchObject({ status: 200 });
  },
  "is disabled": async ({ admin }, { user }) => {
    expect(await admin.call("PATCH", `/v1/users/${user.id}`, { disabled: true })).toMatchObject({ status: 200 });
  },
  "is removed": async ({ admin }, { user }) => {
    expect(await admin.call("DELETE", `/v1/users/${user.id}`)).toMatchObject({ status: 204 });
  },
  "is removed by another process": async ({ clock, control, account: { accountId } }, { user }) => {
    await using other = openStore(control.databasePath);
    await other.users.removeUser(accountId, user.id, someAudit("user.removed", accountId));
    await clock.advance(2_000);
  },
  "has not used the session for 12 hours": async ({ clock }) => {
    await clock.advance(12 * 3_600_000);
  },
};

test.each(Object.entries(ENDINGS))(
  "the open streams of a person end who %s, and those of others do not",
  async (_how, end) => {
    const rig = await setUp();
    const session = await rig.control.session(rig.account, { role: "operator" });
    const headers = { Cookie: session.cookie };
    const log = await followLog(rig, headers);
    const deployment = await followDeployment(rig, headers);
    const other = await followLog(rig, { "X-API-Key": rig.account.apiKey });
    let isOtherOver = false;
    void other.ended.then(() => (isOtherOver = true));
    await end(rig, session);
    await Promise.all([log.ended, deployment.ended]);
    expect([log.status, deployment.status, isOtherOver]).toEqual([200, 200, false]);
    other[Symbol.dispose]();
  },
);

test("a session that is used keeps its streams for 7 days, and no longer", async () => {
  const rig = await setUp();
  const session = await rig.control.session(rig.account, { role: "operator" });
  const browser = new Browser(rig.control, session.cookie);
  const log = await followLog(rig, { Cookie: session.cookie });
  let isOver = false;
  void log.ended.then(() => (isOver = true));
  for (let count = 0; count < 13; count++) {
    rig.clock.pass(11 * 3_600_000);
    expect(await browser.call("GET", "/v1/session")).toMatchObject({ status: 200 });
  }
  expect(isOver).toBe(false);
  for (let count = 0; count < 3; count++) {
    await rig.clock.advance(11 * 3_600_000);
    await browser.call("GET", "/v1/session");
  }
  await log.ended;
  expect(await browser.call("GET", "/v1/session")).toMatchObject({ status: 401 });
});

test("streams to an app end when their key is revoked or expires", async () => {
  const rig = await setUp();
  const { clock, control, account, admin, uuid } = rig;
  const expiresAt = Math.floor(clock.now() / 1000) + 60;
  const [revoked, brief] = [
    await control.key(account, ["apps.forward"], { role: "viewer" }),
    await control.key(account, ["apps.forward"], { role: "viewer", expiresAt }),
  ];
  const connect = (apiKey: string) => RawStreamClient.connect(control.url, uuid, "web", apiKey);
  await using first = await connect(revoked.apiKey);
  expect(await admin.call("DELETE", `/v1/api-keys/${revoked.keyId}`)).toMatchObject({ status: 204 });
  expect(await first.closed).toBe(4401);
  await using second = await connect(brief.apiKey);
  await clock.advance(60_000);
  expect(await second.closed).toBe(4401);
});

test("the streams of a session end that makes room for others of the same person", async () => {
  const password = "a long way to the pump house";
  const passwordHash = await new PasswordHasher({ algorithm: QUICK_HASH }).hash(password, {
    source: "test",
    goesFirst: false,
  });
  const rig = await setUp();
  const { cookie, user } = await rig.control.session(rig.account, { role: "operator", passwordHash });
  const log = await followLog(rig, { Cookie: cookie });
  await rig.clock.advance(1_000);
  for (let count = 0; count < MAX_SESSIONS_PER_USER; count++)
    expect(await new Browser(rig.control).call("POST", "/v1/session", { email: user.email, password })).toMatchObject({
      status: 200,
    });
  await log.ended;
  expect(await new Browser(rig.control, cookie).call("GET", "/v1/session")).toMatchObject({ status: 401 });
});
