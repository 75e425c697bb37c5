import { readFileSync } from "node:fs";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { listIssues } from "../../protocol/errors/request-error.ts";
import { type Config, configSchema } from "./config.ts";
import { findFileErrors } from "./database-config.ts";
import { findOidcFileErrors } from "./oidc-config.ts";
import { findSimOperatorFileErrors } from "./sim-operators-config.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** Settings from the command line, by configuration key. They take precedence over the file. */
export type ConfigOverrides = Readonly<Record<string, string | number>>;

/** The configuration is not valid. The message names each wrong key and the expected value. */
class ServiceConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Loads the configuration from defaults, the file if given, and the overrides. Throws `ConfigError`. */
export function loadConfig(path: string | undefined, overrides: ConfigOverrides): Config {
  const file = path === undefined ? {} : readObject(path);
  const result = configSchema.safeParse({ ...file, ...overrides }, IN_WORDS);
  if (result.success) {
    const errors = [
      ...findFileErrors(result.data),
      ...findOidcFileErrors(result.data),
      ...findSimOperatorFileErrors(result.data),
    ];
    if (errors.length === 0) return result.data;
    throw new ServiceConfigError(`${path ?? "configuration"}: ${errors.join("; ")}`);
  }
  const issues = listIssues(result.error, configSchema).map((issue) => `${issue.path}: ${issue.reason}`);
  throw new ServiceConfigError(`${path ?? "configuration"}: ${issues.join("; ")}`);
}

function readObject(path: string): object {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new ServiceConfigError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, { cause: error });
  }
  let value: unknown;
  try {
    value = parseBoundedJson(text, "file");
  } catch (error) {
    const what = error instanceof JsonLimitError ? error.message : "not valid JSON";
    throw new ServiceConfigError(`${path}: ${what}`, { cause: error });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw new ServiceConfigError(`${path}: must hold one JSON object`);
}
