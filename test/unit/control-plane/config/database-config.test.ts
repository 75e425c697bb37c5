import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type ConfigInput, configSchema } from "../../../../src/control-plane/config/config.ts";
import { databaseOf, describeDatabase } from "../../../../src/control-plane/config/database-config.ts";
import { loadConfig } from "../../../../src/control-plane/config/load-config.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const of = (input: ConfigInput) => databaseOf(configSchema.parse(input));
const optionsOf = (input: ConfigInput) => {
  const database = of(input);
  return database.kind === "postgres" ? database.options : undefined;
};
const PARTS = { database_host: "db.example.com", database_name: "edge", database_user: "me" };

test("without its keys everything is as before: SQLite in data_dir", () => {
  expect(of({})).toEqual({ kind: "sqlite", dataDir: "data" });
  expect(of({ data_dir: "/d", database_pool_max: 5 })).toEqual({ kind: "sqlite", dataDir: "/d" });
});

test("a URL and its parts name the same database", () => {
  const named = { host: "db.example.com", port: 5432, database: "edge", user: "me" };
  expect(optionsOf({ database_url: "postgres://me@db.example.com/edge" })).toMatchObject(named);
  expect(optionsOf({ database_url: "postgresql://me@db.example.com:5432/edge" })).toMatchObject(named);
  expect(optionsOf(PARTS)).toMatchObject(named);
  expect(optionsOf({ ...PARTS, database_port: 6000 })).toMatchObject({ ...named, port: 6000 });
  expect(optionsOf({ database_url: "postgres://a%40b@[::1]:1/e%2Fd" })).toMatchObject({
    host: "::1",
    port: 1,
    database: "e/d",
    user: "a@b",
  });
  expect(describeDatabase(of({ database_url: "postgres://me@[::1]/edge" }))).toBe("the database edge at [::1]:5432");
});

test.each<[ConfigInput, boolean]>([
  [PARTS, true],
  [{ ...PARTS, database_host: "127.0.0.1" }, false],
  [{ ...PARTS, database_host: "localhost" }, false],
  [{ ...PARTS, database_host: "/run/postgresql" }, false],
  [{ database_url: "postgres://me@[::1]/edge" }, false],
  [{ database_url: "postgres://me@%2Frun%2Fpostgresql/edge" }, false],
  [{ database_url: "postgres://me@127.0.0.1.example.com/edge" }, true],
  [{ ...PARTS, database_host: "localhost", database_tls: "verify" }, true],
  [{ ...PARTS, database_host: "localhost", database_ca_file: "/ca.pem" }, true],
  [{ ...PARTS, database_tls: "off" }, false],
])("%j uses TLS: %s", (input, usesTls) => {
  expect(optionsOf(input)?.tls !== undefined).toBe(usesTls);
});

describe("what has no meaning is refused by name, and never quotes a URL", () => {
  test.each<[Record<string, unknown>, string]>([
    [{ database_url: "mysql://me@h/edge" }, "database_url: must be postgres://USER@HOST:PORT/DATABASE"],
    [{ database_url: "not a URL" }, "database_url: must be postgres://USER@HOST:PORT/DATABASE"],
    [{ database_url: "postgres://h/edge" }, "database_url: must be postgres://USER@HOST:PORT/DATABASE"],
    [{ database_url: "postgres://me@h" }, "database_url: must be postgres://USER@HOST:PORT/DATABASE"],
    [
      { database_url: "postgres://me:s3cret@h/edge" },
      "database_url: must not contain a password; set database_password_file",
    ],
    [{ database_url: "postgres://me@h/edge?sslmode=disable" }, "database_url: must end with the name of the database"],
    [{ database_url: "postgres://me@h/e%zz" }, "database_url: contains a % that encodes nothing"],
    [{ database_url: "postgres://me@h/edge", ...PARTS }, "database_host: set either database_url or its parts"],
    [{ database_host: "h" }, "database_name: set it beside database_host; database_user: set it beside database_host"],
    [{ database_name: "edge" }, "database_name: set database_url or database_host beside it"],
    [{ database_password_file: "/p" }, "database_password_file: set database_url or database_host beside it"],
    [{ ...PARTS, database_cert_file: "/c" }, "database_key_file: set it beside database_cert_file"],
    [{ ...PARTS, database_key_file: "/k" }, "database_cert_file: set it beside database_key_file"],
    [
      { ...PARTS, database_tls: "off", database_ca_file: "/c" },
      "database_ca_file: has no effect with database_tls off",
    ],
    [{ ...PARTS, database_tls: "maybe" }, "database_tls: "],
    [{ ...PARTS, database_pool_max: 1 }, "database_pool_max: "],
    [{ ...PARTS, database_password: "s3cret" }, "database_password: unknown field"],
  ])("%j", async (input, message) => {
    await using directory = await tempDir();
    const file = join(directory.path, "config.json");
    writeFileSync(file, JSON.stringify(input));
    expect(() => loadConfig(file, {})).toThrow(message);
    expect(() => loadConfig(file, {})).not.toThrow(/s3cret|sslmode/);
  });

  test("files that cannot be used, without a word of what is in them", async () => {
    await using directory = await tempDir();
    const junk = join(directory.path, "junk");
    writeFileSync(junk, "first\nsecond\n");
    const input = { ...PARTS, database_password_file: junk, database_ca_file: `${junk}-not-there` };
    const config = join(directory.path, "config.json");
    writeFileSync(config, JSON.stringify(input));
    expect(() => loadConfig(config, {})).toThrow(
      `${config}: database_password_file: ${junk} does not contain one line with the password; ` +
        `database_ca_file: ${junk}-not-there cannot be read: ENOENT`,
    );
  });
});
