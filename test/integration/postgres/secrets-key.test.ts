import { copyFile, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { run, start } from "../../support/command.ts";
import { PostgresServer, postgresUnavailableReason } from "../../support/postgres.ts";
import { tempDir } from "../../support/temp-dir.ts";

const reason = await postgresUnavailableReason();
const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");

describe.skipIf(reason !== undefined)(`key file with PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** Migrates a new database. `options` are those of `serve`, with the key file of a name or without one. */
  async function migrate() {
    const directory = await tempDir();
    onTestFinished(() => directory[Symbol.asyncDispose]());
    const url = `postgres://postgres@127.0.0.1:${server.port}/${await server.createDatabase()}`;
    expect((await run(process.execPath, [MAIN, "migrate", "--database-url", url])).code).toBe(0);
    const pathOf = (name: string) => join(directory.path, name);
    return {
      pathOf,
      options: (name?: string) => [
        MAIN,
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--database-url",
        url,
        ...(name === undefined ? [] : ["--secrets-key-file", pathOf(name)]),
      ],
    };
  }

  test("every instance needs the file of the first one, also before anything is sealed", async () => {
    const { pathOf, options } = await migrate();
    await using first = start(process.execPath, options("a"));
    await first.waitForOutput('"msg":"listening"');
    const [id = ""] = (await readFile(pathOf("a"), "utf8")).split(" ");
    const other = await run(process.execPath, options("b"));
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(`does not have the sealing key ${id}`)]);
    await expect(stat(pathOf("b"))).rejects.toThrow("ENOENT");
    const without = await run(process.execPath, options());
    expect([without.code, without.stderr]).toEqual([1, expect.stringContaining("set secrets_key_file to the file")]);
    await copyFile(pathOf("a"), pathOf("b"));
    await using second = start(process.execPath, options("b"));
    await second.waitForOutput('"msg":"listening"');
  });

  test("instances that make the same file at a time have one key", async () => {
    const { pathOf, options } = await migrate();
    await using instances = new AsyncDisposableStack();
    const started = Array.from({ length: 3 }, () => instances.use(start(process.execPath, options("a"))));
    await Promise.all(started.map((instance) => instance.waitForOutput('"msg":"listening"')));
    expect((await readFile(pathOf("a"), "utf8")).trim().split("\n")).toHaveLength(1);
  });
});
