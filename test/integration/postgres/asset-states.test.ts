import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { receivedDeployment, T0 } from "../../support/deployment-record.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { waitFor } from "../../support/wait-for.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const ACCOUNT = "acc_1";
const DEVICE = "11111111-1111-4111-8111-111111111111";
const reason = await postgresUnavailableReason();

const BLOCKED = /* sql */ `
  SELECT count(*)::int AS blocked FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;
/** As a ledger does. */
const LOCK_DEVICE = "SELECT 1 FROM device_sessions WHERE asset_uuid = $1 FOR NO KEY UPDATE";
const SPEND_BUDGET = "UPDATE asset_states SET reasons = reasons | 128, budget_spent_until = $2 WHERE asset_uuid = $1";

const save = (store: Store, hash: string, base: string | undefined, at: number) =>
  store.devices.replaceReport(
    DEVICE,
    base,
    { value: { hash, apps: [], device: undefined }, at },
    { assetUuid: DEVICE, epoch: 1 },
  );

describe.skipIf(reason !== undefined)(
  `states of assets in PostgreSQL${reason === undefined ? "" : ` (${reason})`}`,
  () => {
    let databases: PostgresDatabases;
    beforeAll(async () => {
      databases = await PostgresDatabases.start();
    });
    afterAll(() => databases[Symbol.asyncDispose]());

    /**
     * Starts a write while another transaction has the device, and returns what the last event tells after that transaction has
     * set another reason.
     */
    async function attentionAfter(
      prepare: (store: Store) => Promise<void>,
      write: (store: Store) => Promise<unknown>,
    ): Promise<unknown> {
      await using database = await databases.take();
      await using store = await openPostgresStore(database.options);
      await store.accounts.createAccount({ id: ACCOUNT, name: "account", createdAt: 1 });
      const asset = { uuid: DEVICE, accountId: ACCOUNT, serialNumber: "GW-1", name: "gateway", type: "gateway" };
      await store.assets.registerAsset(
        { ...asset, createdAt: 1, supersim: undefined, prosim: undefined },
        Buffer.from("token"),
        undefined,
        true,
      );
      await store.sessions.open({ assetUuid: DEVICE, sessionId: "s", instanceId: "ins_1", protocol: 3, at: 1 });
      await prepare(store);
      await using other = new PostgresPool(database.options);
      let writing: Promise<unknown> = Promise.resolve();
      await other.transaction(async (client) => {
        await client.query(LOCK_DEVICE, [DEVICE]);
        await client.query(SPEND_BUDGET, [DEVICE, Number.MAX_SAFE_INTEGER]);
        writing = write(store);
        await waitFor("the write that waits", async () => {
          const { rows } = await other.query<{ blocked: number }>(BLOCKED, []);
          return rows[0]?.blocked === 1;
        });
      });
      await writing;
      const { events } = await store.accountEvents.read(ACCOUNT, 0, 100);
      return events.at(-1)?.event;
    }

    test("a report that has waited for a ledger tells what the ledger has set", async () => {
      const event = await attentionAfter(
        async (store) => void (await save(store, "h1", undefined, 5)),
        (store) => save(store, "h2", "h1", 6),
      );
      expect(event).toMatchObject({ type: "device.reported", attention: ["data_budget_spent"] });
    });

    test("a deployment that has waited for a ledger tells what the ledger has set", async () => {
      const event = await attentionAfter(
        async (store) => {
          const { lastEvent: first, ...deployment } = receivedDeployment({ accountId: ACCOUNT, assetUuid: DEVICE });
          if (!first) throw new Error("there is no first event");
          const initial = { ...deployment, lastSeq: 0, lastEvent: undefined };
          await createDeployment(store.deployments, initial, first);
          // The next end of a deployment changes no bit.
          await updateDeployment(store.deployments, "dep_1", (current) => fail(current, T0, "Internal"));
          const second = { ...initial, id: "dep_2" };
          await createDeployment(store.deployments, second, { ...first, deployment_id: "dep_2" });
        },
        (store) => updateDeployment(store.deployments, "dep_2", (current) => fail(current, T0, "Internal")),
      );
      expect(event).toMatchObject({
        type: "deployment.ended",
        attention: ["deployment_failed", "data_budget_spent"],
      });
    });
  },
);
