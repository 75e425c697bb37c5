import { type Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import { type Config, configSchema, DATA_DIR_VARIABLE } from "../config/config.ts";
import { type Database, databaseOf, databaseShape, describeDatabase } from "../config/database-config.ts";
import { type ConfigOverrides, loadConfig } from "../config/load-config.ts";
import { ServiceCommandError } from "./context.ts";

/** A PostgreSQL database of the configuration. */
export type PostgresDatabase = Extract<Database, { kind: "postgres" }>;

/** Adds an option for each of these configuration keys. */
export function addConfigOptions(command: Command, shape: Readonly<Record<string, z.ZodType>>): Command {
  for (const [key, schema] of Object.entries(shape)) {
    const isNumber = takesNumber(schema);
    const flag = `--${key.replaceAll("_", "-")} <${isNumber ? "number" : "value"}>`;
    const option = new Option(flag, schema.meta()?.description ?? "");
    if (key === "data_dir") option.env(DATA_DIR_VARIABLE);
    command.addOption(isNumber ? option.argParser(parseNumber) : option);
  }
  return command;
}

/** Loads the configuration file that the options name, overridden by the options themselves. */
export function configOf(options: Readonly<Record<string, unknown>>): Config {
  const overrides: ConfigOverrides = Object.fromEntries(
    Object.keys(configSchema.shape).flatMap((key) => {
      const value = options[toCamelCase(key)];
      return value === undefined ? [] : [[key, value as string | number]];
    }),
  );
  const { config } = options;
  return loadConfig(typeof config === "string" ? config : undefined, overrides);
}

/** Adds the options of a command that is for PostgreSQL only. */
export function withDatabaseOptions(command: Command): Command {
  return addConfigOptions(
    command.option("--config <file>", "the service's configuration file").option("--json", "print JSON"),
    databaseShape,
  );
}

/** The PostgreSQL database that the options name. Throws `CommandError` if they name none. */
export function requirePostgres(options: Readonly<Record<string, unknown>>): PostgresDatabase {
  const database = databaseOf(configOf(options));
  if (database.kind === "postgres") return database;
  throw new ServiceCommandError(
    `the configuration names no PostgreSQL database, but ${describeDatabase(database)}: give --config or --database-url`,
  );
}

function takesNumber(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  return "innerType" in def ? takesNumber(def.innerType) : def.type === "number";
}

function parseNumber(text: string): number {
  const value = Number(text);
  if (text.trim() === "" || Number.isNaN(value)) throw new InvalidArgumentError("must be a number");
  return value;
}

function toCamelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
