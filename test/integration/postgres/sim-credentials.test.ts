import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CommandClient } from "../../../src/control-plane/store/postgres/command-client.ts";
import { run, type RunningCommand, start, succeed } from "../../support/command.ts";
import { PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { SuperSimSimulator } from "../../support/sim-operators/super-sim-simulator.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const reason = await postgresUnavailableReason();
const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");
const sidOf = (number: number): string => `HS${number.toString(16).padStart(32, "0")}`;

async function startKore(sids: readonly string[]): Promise<SuperSimSimulator> {
  const kore = await SuperSimSimulator.start();
  onTestFinished(() => kore[Symbol.asyncDispose]());
  kore.addFleet("default_1gb");
  for (const sid of sids) kore.addSim({ sid, iccid: `898830700000123${sid.slice(-4)}` });
  return kore;
}

const register = async (instance: RunningCommand, key: string, number: number): Promise<number> => {
  const port = /"port":(\d+)/.exec(instance.stdout())?.[1];
  const supersim = {
    sid: sidOf(number),
    iccid: `898830700000123${sidOf(number).slice(-4)}`,
    network_group: "default_1gb",
  };
  const response = await fetch(`http://127.0.0.1:${port}/v1/assets`, {
    method: "POST",
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    body: JSON.stringify({ serial_number: `GW-${number}`, type: "gateway", supersim }),
  });
  await response.arrayBuffer();
  return response.status;
};

describe.skipIf(reason !== undefined)(
  `accounts' own credentials at SIM operators, with several instances${reason === undefined ? "" : ` (${reason})`}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await PostgresServer.start();
    });
    afterAll(() => server[Symbol.asyncDispose]());

    async function prepare() {
      const directory = await tempDir();
      onTestFinished(() => directory[Symbol.asyncDispose]());
      const database = await server.createDatabase();
      const config = join(directory.path, "config.json");
      const keys = {
        listen: "127.0.0.1:0",
        database_url: `postgres://postgres@127.0.0.1:${server.port}/${database}`,
        secrets_key_file: join(directory.path, "secrets.key"),
      };
      await writeFile(config, JSON.stringify(keys));
      await succeed(process.execPath, [MAIN, "migrate", "--config", config]);
      const command = (...args: string[]): string[] => [MAIN, ...args, "--config", config];
      const administer = async (...args: string[]) =>
        JSON.parse(await succeed(process.execPath, command(...args, "--json"))) as Record<string, string>;
      return { directory: directory.path, database, command, administer };
    }

    test("each instance uses what is set, rotated, killed in mid-rotation, replaced or removed, without a restart", async () => {
      const { directory, database, command, administer } = await prepare();
      const [one, other] = [await startKore([1, 2, 3, 4, 5, 6].map(sidOf)), await startKore([7, 8].map(sidOf))];
      await using processes = new AsyncDisposableStack();
      const instances = [0, 1].map(() => processes.use(start(process.execPath, command("serve"))));
      for (const instance of instances) await instance.waitForOutput('"msg":"listening"');
      const [first, second] = instances as [RunningCommand, RunningCommand];
      const { account_id: account = "" } = await administer("account", "create", "Acme");
      const { api_key: key = "" } = await administer("key", "create", "--account", account, "--name", "ops");
      const setFrom = async ({ url, tokenUrl, clientId, clientSecret }: SuperSimSimulator, of = account) => {
        const file = join(directory, "secret");
        await writeFile(file, clientSecret, { mode: 0o600 });
        const at = ["--url", url, "--token-url", tokenUrl, "--client-id", clientId, "--secret-file", file];
        await administer("sim-operator", "set", "--account", of, "--type", "supersim", ...at);
      };

      const { account_id: brief = "" } = await administer("account", "create", "Brief");
      await setFrom(one, brief);
      await setFrom(one);
      expect([await register(first, key, 1), await register(second, key, 2)]).toEqual([201, 201]);
      // What its operator does not know is refused at both.
      expect([await register(first, key, 7), await register(second, key, 8)]).toEqual([422, 422]);

      await using holder = await CommandClient.connect(server.options(database));
      await holder.query("BEGIN");
      // Credentials can be read, and not sealed again.
      await holder.query("LOCK TABLE sim_operator_credentials IN SHARE MODE");
      await using rotating = start(process.execPath, command("secrets", "rotate"));
      await waitFor("the rotation to wait for the credentials", async () => {
        const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database}' AND wait_event_type = 'Lock'`;
        return (await server.execute(waiting)) !== "0";
      });
      rotating.kill("SIGKILL");
      await rotating.exited;
      expect([await register(first, key, 3), await register(second, key, 4)]).toEqual([201, 201]);
      await holder.query("ROLLBACK");
      // The database may have finished the one statement that was under way.
      const rotated = await administer("secrets", "rotate");
      expect(rotated).toMatchObject({ resumed: true });
      expect(Number(rotated["credentials"])).toBeGreaterThanOrEqual(1);
      expect([await register(first, key, 5), await register(second, key, 6)]).toEqual([201, 201]);
      const sealedAgain = { key_id: rotated["key_id"], url: one.url };
      expect(await administer("sim-operator", "show")).toMatchObject([sealedAgain, sealedAgain]);
      // Nothing needs the former key any more.
      expect((await run(process.execPath, command("secrets", "prune", "--yes"))).code).toBe(0);

      await setFrom(other);
      expect([await register(first, key, 7), await register(second, key, 8)]).toEqual([201, 201]);
      // Before.
      expect(one.count(/Sims\/HS0+[78]$/)).toBe(2);

      await administer("sim-operator", "remove", "--account", account, "--type", "supersim");
      const [of, at] = [one.count(), other.count()];
      // Nobody is asked: the state is stored only.
      expect([await register(first, key, 9), await register(second, key, 10)]).toEqual([201, 201]);
      expect([one.count(), other.count()]).toEqual([of, at]);

      await server.execute(`DELETE FROM accounts WHERE id = '${brief}'`, database);
      expect(await server.execute("SELECT count(*) FROM sim_operator_credentials", database)).toBe("0");
      const output = instances.map((instance) => instance.stdout() + instance.stderr()).join("");
      for (const { clientSecret } of [one, other]) expect(output).not.toContain(clientSecret);
    });
  },
);
