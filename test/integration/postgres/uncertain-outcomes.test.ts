import { statusOf } from "../../../src/control-plane/core/deployment.ts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { copyDatabase } from "../../../src/control-plane/data/copy/copy.ts";
import { markUnfinishedRestored } from "../../../src/control-plane/store/postgres/maintenance.ts";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import type { PostgresOptions } from "../../../src/control-plane/store/postgres/options.ts";
import { someAudit, someCode, someSession, someUser } from "../../support/control-plane/people.ts";
import { type ControlPlane, startControlPlane, type TestAsset } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();

/** A service on SQLite, or on a database of PostgreSQL. */
async function serve(options?: PostgresOptions): Promise<ControlPlane> {
  const control = await startControlPlane(options && { openStore: () => openPostgresStore(options) });
  onTestFinished(() => control[Symbol.asyncDispose]());
  return control;
}

/** Begins a deployment, which its device acknowledges, and stops the service. */
async function stopDuringDeployment(control: ControlPlane): Promise<{ id: string; asset: TestAsset }> {
  const account = await control.account();
  const asset = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  using _stream = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apps`, {
    apiKey: account.apiKey,
    body: { name: "web", image: "web:1" },
  });
  const { deployment_id: id } = await device.next("deploy");
  await waitFor(
    "the acknowledgement",
    async () => (await control.store.deployments.findDeployment(id))?.state.kind === "acknowledged",
  );
  await control.server.stop();
  return { id, asset };
}

/** What the device says became of the deployment, and how the record ends for it. */
const CASES = [
  { says: "that it succeeded", status: "Success", details: { recovered: true } },
  // Without the mark the device would be told to undo it.
  { says: "that it has nothing on record", status: "Fail", details: { outcome: "unknown" } },
] as const;

/** The device has ended the deployment since. In no case must it be told to undo it. */
async function expectAsked(
  control: ControlPlane,
  id: string,
  { deviceToken }: TestAsset,
  { status, details }: (typeof CASES)[number],
): Promise<void> {
  const success = { deployment_id: id, status: "Success" as const, message: "The app runs." };
  const outcomes = status === "Success" ? [success] : [];
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken, { outcomes });
  const ended = await waitFor("the end of the record", async () => {
    const deployment = await control.store.deployments.findDeployment(id);
    return deployment?.state.kind === "ended" && deployment;
  });
  expect([statusOf(ended), ended.lastEvent?.details]).toEqual([status, expect.objectContaining(details)]);
  await device.flushed();
  expect(device.received.filter(({ type }) => type === "cancel" || type === "deploy")).toEqual([]);
}

describe.skipIf(reason !== undefined)(`devices are asked${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  beforeAll(async () => {
    databases = await PostgresDatabases.start();
  });
  afterAll(() => databases[Symbol.asyncDispose]());

  test.each(CASES)("after a copy to PostgreSQL: the device says $says", async (outcome) => {
    const control = await serve();
    const { id, asset } = await stopDuringDeployment(control);
    const { options: to } = await databases.take();
    await copyDatabase({ database: control.databasePath, to, target: "the target" });
    await expectAsked(await serve(to), id, asset, outcome);
  });

  test.each(CASES)("after a backup was restored, and marked so: the device says $says", async (outcome) => {
    const original = await databases.create();
    const control = await serve(original);
    const { id, asset } = await stopDuringDeployment(control);
    await control.store[Symbol.asyncDispose]();
    // The connection that emptied the database for this test is kept for a while, and a template must have none.
    await databases.server.execute(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${original.database}'`,
    );
    const restored = databases.server.options(await databases.server.createDatabase(original.database));
    expect(await markUnfinishedRestored(restored)).toBe(1);
    await expectAsked(await serve(restored), id, asset, outcome);
  });

  test("a restored backup brings back no session and no unused code", async () => {
    const { options } = await databases.take();
    const user = someUser();
    await using store = await openPostgresStore(options);
    await store.accounts.createAccount({ id: user.accountId, name: "x", createdAt: 1 });
    const audit = someAudit("user.created");
    await store.users.createUser(user, { code: someCode("invitation", user), hash: Buffer.from("code") }, audit);
    const opened = { session: someSession(user), hash: Buffer.from("s"), user, replaces: undefined, audit };
    expect(await store.userSessions.openSession(opened)).toBe(true);
    await store.browsers.remember(user.id, Buffer.from("b"), 1_000);
    await markUnfinishedRestored(options);
    expect(await store.browsers.isKnown(user.id, Buffer.from("b"), 1_000)).toBe(false);
    expect(await store.users.findUser(user.id)).toMatchObject({ email: user.email });
    expect(await store.userSessions.findSession(Buffer.from("s"))).toBeUndefined();
    expect(await store.users.findCode(Buffer.from("code"))).toBeUndefined();
  });
});
