import { writeFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../support/command.ts";
import { blocksOf, documented, fill, runPrinted } from "../../support/documentation.ts";
import { freePort } from "../../support/free-port.ts";
import { type PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";
import { ControlProcess } from "../../support/system/control.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** A service with an account, and an asset that has a SIM. */
async function serve() {
  const { path } = onEnd(await tempDir());
  const control = onEnd(new ControlProcess(path, []));
  await control.start();
  const { accountId } = await control.createAccount("acme");
  const sim = ["--supersim-sid", "HS0123456789abcdef", "--supersim-iccid", "8988307000001234567"];
  const asset = ["--account", accountId, "--serial-number", "GW-0001", ...sim, "--network-group", "default_1gb"];
  await control.administer("asset", "add", ...asset);
  const env = { PATH: [resolve("dist"), process.env["PATH"]].join(delimiter), EDGE_CONTROL_DATA_DIR: control.dataDir };
  const run = (text: string) => runPrinted(text, "", { cwd: path, env });
  return { path, control, accountId, run };
}

function onEnd<T extends AsyncDisposable>(owned: T): T {
  onTestFinished(() => owned[Symbol.asyncDispose]());
  return owned;
}

test("usage is imported, keys are rotated, and a backup is restored", async () => {
  const { path, control, run } = await serve();
  const example = blocksOf("docs/api.md").find(({ heading, language }) => heading === "Import" && language === "csv");
  writeFileSync(join(path, "usage.csv"), `${example?.text}\n`);
  expect(await run(documented("docs/api.md", "Import"))).toContain("1 ");
  expect(await run(documented("docs/service-recovery.md", "Secrets at rest"))).toMatch(/current[^]*removed/i);

  const file = join(path, "edge-control.db");
  const replacements = { "/var/backups/edge-control.db": file, "--data-dir …": `--data-dir ${control.dataDir}` };
  const [backup = "", restore = ""] = fill(documented("docs/service-recovery.md", "The commands"), replacements).split(
    "\n",
  );
  await run(backup);
  await control.stop();
  expect(await run(restore)).toContain(control.dataDir);
  await control.start();
});

test("credentials at SIM operators are set, shown, tried and removed", async () => {
  const { path, accountId, run } = await serve();
  for (const name of ["kore-secret", "emnify-token"])
    writeFileSync(join(path, name), "not-a-real-secret\n", { mode: 0o600 });
  const config = join(path, "config.json");
  const example = blocksOf("docs/sim-operators.md").find(({ language }) => language === "json")?.text ?? "";
  writeFileSync(config, fill(example, { "/etc/edge-control/": `${path}/` }), { mode: 0o600 });
  const configured = fill(documented("docs/sim-operators.md", "Configuration"), {
    "/etc/edge-control/config.json": config,
  });
  // The operators refuse these credentials, or cannot be reached from here: each call has its line.
  await expect(run(configured)).rejects.toThrow(/supersim[^]*prosim/i);

  const commands = fill(documented("docs/sim-operators.md", "Credentials of an account"), { ACC: accountId }).split(
    "\n",
  );
  for (const command of commands) {
    if (command.includes(" check ")) await expect(run(command)).rejects.toThrow(/supersim/i);
    else await run(command);
  }
});

const missing = await postgresUnavailableReason();

describe.skipIf(missing !== undefined)(`with PostgreSQL${missing === undefined ? "" : ` (${missing})`}`, () => {
  test("a directory moves to PostgreSQL, and a backup of that is restored", async () => {
    const { path, control, run } = await serve();
    await control.stop();
    const databases = onEnd(await PostgresDatabases.start());
    const { server } = databases;
    const name = await server.createDatabase();
    const config = join(path, "pg.json");
    const writeConfig = async (database: string): Promise<void> => {
      const listen = `127.0.0.1:${await freePort()}`;
      const secrets = { secrets_key_file: join(control.dataDir, "secrets.key") };
      writeFileSync(config, JSON.stringify({ database_url: urlOf(server, database), listen, ...secrets }), {
        mode: 0o600,
      });
    };
    await writeConfig(name);
    const moving = fill(documented("docs/service-scaling.md", "From SQLite to PostgreSQL"), {
      // It is stopped, and no unit.
      "systemctl stop edge-control": "true",
      "/var/lib/edge-control": control.dataDir,
    });
    await serveAtEnd(moving, run, path);

    const programs = "/usr/lib/postgresql/15/bin";
    const connection = `PGHOST=127.0.0.1 PGPORT=${server.port} PGUSER=${server.options(name).user}`;
    const backup = fill(documented("docs/service-recovery.md", "Backup of PostgreSQL"), {
      "createdb …": "createdb",
    });
    const lines = backup.split("\n");
    await run(`export ${connection} PATH=$PATH:${programs} DATABASE=${name}\n${lines.slice(0, 3).join("\n")}`);
    await writeConfig("edge_control_restored");
    await serveAtEnd(lines.slice(3).join("\n"), run, path);
  });
});

const urlOf = (server: PostgresServer, database: string): string =>
  `postgres://${server.options(database).user}@127.0.0.1:${server.port}/${database}`;

/** Runs commands of which the last one serves until it is ended. */
async function serveAtEnd(text: string, run: (text: string) => Promise<string>, cwd: string): Promise<void> {
  const commands = text.split("\n");
  const last = commands.at(-1) ?? "";
  expect(last).toMatch(/^edge-control serve /);
  await run(commands.slice(0, -1).join("\n"));
  const env = { PATH: [resolve("dist"), process.env["PATH"]].join(delimiter) };
  await using server = start("sh", ["-c", `exec ${last}`], { cwd, env });
  await server.waitForOutput(/listening/);
  // Gracefully: otherwise its database counts as in use until its lease ends.
  process.kill(server.pid, "SIGTERM");
  expect(await server.exited).toBe(0);
}
