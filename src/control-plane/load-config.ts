import { readFileSync } from "node:fs";
import { listIssues } from "../protocol/request-error.ts";
import { type Config, configSchema } from "./config.ts";

/** Settings given on the command line, by their keys in the configuration file; they go before the file. */
export type ConfigOverrides = Readonly<Record<string, string | number>>;

/** The configuration cannot be used. The message names each wrong key and what was expected. */
class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Reads and checks the configuration: defaults, then the file if there is one, then the overrides. Throws `ConfigError`. */
export function loadConfig(path: string | undefined, overrides: ConfigOverrides): Config {
  const file = path === undefined ? {} : readObject(path);
  const result = configSchema.safeParse({ ...file, ...overrides });
  if (result.success) return result.data;
  const issues = listIssues(result.error).map((issue) => `${issue.path}: ${issue.reason}`);
  throw new ConfigError(`${path ?? "configuration"}: ${issues.join("; ")}`);
}

function readObject(path: string): object {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new ConfigError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ConfigError(`${path}: not valid JSON`, { cause: error });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ConfigError(`${path}: must hold one JSON object`);
}
