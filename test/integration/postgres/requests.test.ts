import { afterAll, beforeAll, describe, test } from "vitest";
import { openPostgresStore } from "../../../src/control-plane/store/postgres/open-store.ts";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { type ControlPlane, startControlPlane } from "../../support/control-plane.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import {
  AccountWalk,
  CHANGED_BY_READS,
  CHANGES_OF_CLIENTS,
  OF_THE_SERVICE,
  type Stored,
} from "../../support/openapi/account-walk.ts";
import { testConditionalResources } from "../../support/openapi/conditional-resources.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();

const TABLES = "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename";

const WAITING_ROLLOUTS = String.raw`SELECT 1 FROM account_events WHERE event::text ~ 'waits_for_people"\s*:\s*true'`;

/** Columns of account events: on PostgreSQL an event has its id once it is told, a moment after it was stored. */
const NUMBERED_LATER = ["id", "last_id", "removed_to"];

describe.skipIf(reason !== undefined)(`requests on PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;

  beforeAll(async () => {
    databases = await PostgresDatabases.start();
  });
  afterAll(() => databases[Symbol.asyncDispose]());

  describe("resources", () =>
    testConditionalResources(async () => {
      const options = await databases.create();
      return startControlPlane({ openStore: () => openPostgresStore(options) });
    }));

  describe("every operation", () => {
    let control: ControlPlane;
    let pool: PostgresPool;
    const stored: Stored = {
      async everything() {
        const { rows: tables } = await pool.query<{ readonly name: string }>(TABLES);
        const texts = tables
          .filter(({ name }) => !OF_THE_SERVICE.test(name))
          .map(async ({ name }) => {
            const left = [...CHANGED_BY_READS, ...(name.startsWith("account_event") ? NUMBERED_LATER : [])];
            const row = `(to_jsonb(t) - '{${left.join()}}'::text[])::text`;
            const query = `SELECT string_agg(${row}, ',' ORDER BY ${row}) AS rows FROM "${name}" t`;
            return [name, (await pool.query(query)).rows];
          });
        return JSON.stringify(await Promise.all(texts));
      },
      madeByClients: async () => (await pool.query(CHANGES_OF_CLIENTS)).rows,
    };

    beforeAll(async () => {
      const options = await databases.create();
      pool = new PostgresPool({ ...options, poolMax: 1 });
      control = await startControlPlane({
        // The service does nothing by itself, such as to note that it is alive.
        clock: new FakeClock(Date.now()),
        config: { legacy_removal_at: "2999-01-01T00:00:00Z" },
        openStore: () => openPostgresStore(options),
      });
    });
    afterAll(async () => {
      await pool[Symbol.asyncDispose]();
      await control[Symbol.asyncDispose]();
    });

    test("changes nothing with a tag that is not the present one, and is carried out once with a key", async () => {
      const walk = await AccountWalk.start(control);
      // The rollout that the walk has begun comes to wait for its held asset by itself.
      await waitFor("the rollout to wait for people", async () => {
        const { rows } = await pool.query(WAITING_ROLLOUTS);
        return rows.length > 0;
      });
      await walk.expectConditions(stored);
      await walk.expectRepetitions(stored);
    });
  });
});
