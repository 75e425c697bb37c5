import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectedIn, NO_CONNECTION } from "../../../src/control-plane/core/connection.ts";
import type { Deployment } from "../../../src/control-plane/core/deployment.ts";
import { toTransition } from "../../../src/control-plane/core/next.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import type { CreationLimits } from "../../../src/control-plane/store/deployments.ts";
import { writeUpdates } from "../../../src/control-plane/store/postgres/deployment-writer.ts";
import { PostgresDeploymentStore } from "../../../src/control-plane/store/postgres/deployments.ts";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import type { PostgresOptions } from "../../../src/control-plane/store/postgres/options.ts";
import { AppendSignal } from "../../../src/control-plane/store/account-events.ts";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { StaleSessionError } from "../../../src/control-plane/store/sessions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { commandOf, failed, receivedDeployment, T0 } from "../../support/deployment-record.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { waitFor } from "../../support/wait-for.ts";
import { createDeployment, updateDeployment, updateDeployments } from "../../support/store-deployment.ts";

const ACCOUNT = "acc_1";
const DEVICE = "11111111-1111-4111-8111-111111111111";
const reason = await postgresUnavailableReason();

async function prepare(store: Store): Promise<void> {
  await store.accounts.createAccount({ id: ACCOUNT, name: "account", createdAt: 1 });
  const asset = {
    uuid: DEVICE,
    accountId: ACCOUNT,
    serialNumber: "GW-1",
    name: "gateway",
    type: "gateway",
    createdAt: 1,
  };
  await store.assets.registerAsset({ ...asset, supersim: undefined, prosim: undefined }, Buffer.from("token"));
}

function create(
  store: Store,
  fields: Partial<Deployment>,
  limits?: CreationLimits,
  receive?: (deployment: Deployment) => undefined,
): ReturnType<typeof createDeployment> {
  const { lastEvent, ...deployment } = receivedDeployment({ assetUuid: DEVICE, ...fields });
  const first = { ...lastEvent!, deployment_id: deployment.id };
  return createDeployment(
    store.deployments,
    { ...deployment, lastSeq: 0, lastEvent: undefined },
    first,
    undefined,
    limits,
    receive,
  );
}

const say = (message: string) => (current: Deployment) =>
  appendEvent(current, { status: "Running", message, step: "pulling" }, T0);

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

describe.skipIf(reason !== undefined)(`deployments in PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  beforeAll(async () => {
    databases = await PostgresDatabases.start();
  });
  afterAll(() => databases[Symbol.asyncDispose]());

  /** Gives a database of its own to the test, with an account and a device. */
  const withStore = async (work: (store: Store, options: PostgresOptions) => Promise<void>): Promise<void> => {
    await using database = await databases.take();
    await using store = await openPostgresStore(database.options);
    await prepare(store);
    await work(store, database.options);
  };

  test("changes of many deployments that come together are read by one statement and stored by one", () =>
    withStore(async (store, options) => {
      const ids = numbers(100).map((index) => `dep_${index}`);
      for (const id of ids) await create(store, { id });
      const session = { assetUuid: DEVICE, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 1 };
      await store.sessions.open(session);
      await using pool = new PostgresPool(options);
      let statements = 0;
      const counting = new Proxy(pool, {
        get(target, name) {
          if (name === "query") statements++;
          const value: unknown = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      const deployments = new PostgresDeploymentStore(counting, new AppendSignal());
      const fence = { assetUuid: DEVICE, epoch: 1 };
      const changed = await Promise.all(ids.map((id) => updateDeployment(deployments, id, say("a"), fence)));
      expect(statements).toBe(2);
      expect(changed.every((deployment) => deployment?.version === 2)).toBe(true);
      // Those of one deployment never go together: all but one are decided again.
      const three = await Promise.all(
        ["b", "c", "d"].map((text) => updateDeployment(deployments, "dep_0", say(text), fence)),
      );
      expect(new Set(three.map((deployment) => deployment?.version))).toEqual(new Set([3, 4, 5]));
      const { events } = await store.deployments.readEvents("dep_0", 2, 10);
      expect(events.map(({ json }) => (JSON.parse(json) as { message: string }).message).toSorted()).toEqual([
        "b",
        "c",
        "d",
      ]);
    }));

  test("a change that is stored while another one of the same deployment is about to be comes too late", () =>
    withStore(async (store, options) => {
      const { deployments } = store;
      await create(store, { id: "dep_1" });
      await using other = new PostgresPool(options);
      const before = (await deployments.findDeployment("dep_1"))!;
      const changed = await other.transaction(async (client) => {
        await writeUpdates(client, [toTransition(before, fail(before, T0, "DeploymentCancelled")!)]);
        // Without an event, as when an instance takes over what another one has left.
        const waiting = deployments.updateDeployments([
          toTransition(before, { fields: { connection: connectedIn(7) } }),
        ]);
        await waitFor("the other change to wait for this one", async () => {
          const { rowCount } = await client.query("SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1");
          return rowCount > 0;
        });
        return { waiting };
      });
      expect(await changed.waiting).toEqual(new Set());
      const found = await deployments.findDeployment("dep_1");
      expect(found).toMatchObject({
        state: { status: "Fail" },
        connection: NO_CONNECTION,
        version: 2,
        lastSeq: 2,
        lastEvent: { seq: 2 },
      });
    }));

  test("a change that fails does not fail those that come together with it", () =>
    withStore(async (store) => {
      for (const id of ["dep_1", "dep_2", "dep_3", "dep_4"]) await create(store, { id });
      const { deployments, sessions } = store;
      await sessions.open({ assetUuid: DEVICE, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 1 });
      const results = await Promise.allSettled([
        updateDeployment(deployments, "dep_1", say("a")),
        updateDeployment(deployments, "dep_1", () => {
          throw new Error("undecided");
        }),
        updateDeployment(deployments, "dep_1", say("b")),
        // The database refuses it.
        updateDeployment(deployments, "dep_2", () => ({
          fields: { state: { ...failed(), status: "Nonsense" as "Fail" } },
        })),
        updateDeployment(deployments, "dep_3", say("a"), { assetUuid: DEVICE, epoch: 1 }),
        updateDeployment(deployments, "dep_4", say("a"), { assetUuid: DEVICE, epoch: 2 }),
        updateDeployment(deployments, "dep_none", say("a")),
      ]);
      expect(results.map((result) => (result.status === "fulfilled" ? result.value?.version : "failed"))).toEqual([
        2,
        "failed",
        3,
        "failed",
        2,
        "failed",
        undefined,
      ]);
      expect(results[5]).toMatchObject({ reason: expect.any(StaleSessionError) });
      const versions = ["dep_1", "dep_2", "dep_3", "dep_4"].map((id) => deployments.findDeployment(id));
      expect((await Promise.all(versions)).map((deployment) => deployment?.version)).toEqual([3, 1, 2, 1]);
    }));

  test("calls are carried out once, although other transactions are in the way at first", () =>
    withStore(async (store, { database }) => {
      const { server } = databases;
      // Each statement that changes deployments fails twice before it succeeds.
      await server.execute(
        `CREATE SEQUENCE attempts; GRANT USAGE ON SEQUENCE attempts TO PUBLIC;
         CREATE FUNCTION fail_at_first() RETURNS trigger LANGUAGE plpgsql AS $$
         DECLARE attempt BIGINT := nextval('attempts'); BEGIN
           IF attempt % 3 = 1 THEN RAISE EXCEPTION 'forced' USING ERRCODE = '40001'; END IF;
           IF attempt % 3 = 2 THEN RAISE EXCEPTION 'forced' USING ERRCODE = '40P01'; END IF;
           RETURN NULL;
         END $$;
         CREATE TRIGGER forced AFTER INSERT OR UPDATE ON deployments FOR EACH STATEMENT EXECUTE FUNCTION fail_at_first()`,
        database,
      );
      try {
        expect(await create(store, { id: "dep_1", finishDueMs: 5 })).toMatchObject({ kind: "created" });
        expect(await updateDeployment(store.deployments, "dep_1", say("a"))).toMatchObject({ version: 2 });
        const [updated] = await updateDeployments(store.deployments, ["dep_1"], say("b"));
        expect(updated).toMatchObject({ version: 3, lastSeq: 3 });
        const ended = await updateDeployment(store.deployments, "dep_1", (current) => fail(current, T0, "Internal"));
        expect(ended).toMatchObject({ version: 4, state: { status: "Fail" }, lastSeq: 4 });
        expect((await store.deployments.readEvents("dep_1", 0, 10)).events).toHaveLength(4);
        expect(await server.execute("SELECT last_value FROM attempts", database)).toBe("12");
      } finally {
        await server.execute(
          "DROP TRIGGER forced ON deployments; DROP FUNCTION fail_at_first; DROP SEQUENCE attempts",
          database,
        );
      }
    }));

  test("the limits hold for requests that come together to two instances", () =>
    withStore(async (store, options) => {
      await using other = await openPostgresStore(options);
      const createAll = (prefix: string, limits: CreationLimits) =>
        Promise.all(
          numbers(16).map((index) => create(index % 2 ? store : other, { id: `${prefix}_${index}` }, limits)),
        );
      const running = await createAll("a", { maxAccountBytes: 2 ** 40, maxRunningPerAsset: 5 });
      expect(running.filter(({ kind }) => kind === "created")).toHaveLength(5);
      const { storedBytes } = await store.accounts.findUsage(ACCOUNT);
      const limits = { maxAccountBytes: Math.floor((storedBytes / 5) * 9.5), maxRunningPerAsset: 100 };
      const bounded = await createAll("b", limits);
      expect(bounded.filter(({ kind }) => kind === "created")).toHaveLength(5);
      expect(bounded.filter(({ kind }) => kind === "quota_exceeded")).toHaveLength(11);
    }));

  test("the size of an account is that of what it stores, whatever was stored and removed together", () =>
    withStore(async (store, { database }) => {
      await Promise.all(numbers(20).map((index) => create(store, { id: `dep_${index}` })));
      const updates = numbers(20).flatMap((index) =>
        numbers(5).map((text) => updateDeployment(store.deployments, `dep_${index}`, say("x".repeat(text * 10)))),
      );
      await Promise.all(updates);
      await updateDeployments(store.deployments, ["dep_1", "dep_2"], () => ({
        fields: { command: commandOf("deploy", { name: "web" }) },
      }));
      const ends = numbers(10).map((index) =>
        updateDeployment(store.deployments, `dep_${index}`, (current) =>
          fail(current, T0 + index, "DeploymentTimeout"),
        ),
      );
      await Promise.all(ends);
      expect(await store.deployments.removeFinished(T0 + 8, 5)).toBe(5);
      const truth = await databases.server.execute(
        `SELECT sum(octet_length(d.spec) + octet_length(d.options) + 512
           + (SELECT sum(octet_length(event)) FROM deployment_events WHERE deployment_id = d.id)) FROM deployments d`,
        database,
      );
      expect((await store.accounts.findUsage(ACCOUNT)).storedBytes).toBe(Number(truth));
      const record = await store.deployments.findDeployment("dep_19");
      expect(record?.accountStoredBytes).toBe(Number(truth));
    }));

  test("a deployment is created before its device connects, which then finds it, or sees the session", () =>
    withStore(async (store, options) => {
      await using other = await openPostgresStore(options);
      for (const index of numbers(20)) {
        const id = `dep_${index}`;
        let holder: string | undefined = "not asked";
        const created = create(store, { id }, undefined, (deployment) => {
          holder = deployment.holder;
          return undefined;
        });
        const instanceId = `ins_${index}`;
        const opened = other.sessions
          .open({ assetUuid: DEVICE, sessionId: "s", instanceId, protocol: 3, at: 1 })
          .then(() => other.deployments.listUndelivered(DEVICE));
        const [undelivered] = await Promise.all([opened, created]);
        expect(holder === instanceId || undelivered.some((deployment) => deployment.id === id)).toBe(true);
      }
    }));

  test("a text with NUL is found nowhere, and one in a specification is stored", () =>
    withStore(async (store) => {
      expect(await store.deployments.findDeployment("dep_\0")).toBeUndefined();
      expect(await store.deployments.findSummary("\0")).toBeUndefined();
      expect(await store.deployments.readEvents("\0", 0, 1)).toEqual({ events: [], hasMore: false, isOver: true });
      expect(await store.deployments.listDeployments("\0", 1)).toEqual({ deployments: [], next: undefined });
      expect(await updateDeployment(store.deployments, "\0", say("a"))).toBeUndefined();
      const command = commandOf("deploy", { name: "web", environments: [{ key: "A", value: "a\0b\ud800" }] });
      await create(store, { id: "dep_1", command });
      expect(await updateDeployment(store.deployments, "dep_1", say("c\0d"))).toMatchObject({ version: 2 });
      expect(await store.deployments.findDeployment("dep_1")).toMatchObject({
        command,
        lastEvent: { message: "c\0d" },
      });
    }));
});
