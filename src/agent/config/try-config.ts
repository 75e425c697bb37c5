import { readFileSync } from "node:fs";
import { ConfigError } from "./config-error.ts";
import { parseConfig } from "./load.ts";
import type { ConfigFile } from "./schema.ts";

/** The configuration file as it is, without what it refers to, or why it cannot be used. */
export function tryConfigFile(path: string): ConfigFile | ConfigError {
  try {
    return parseConfig(readFileSync(path, "utf8"), path);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    const code = (error as NodeJS.ErrnoException).code;
    const why = code === "ENOENT" ? "it does not exist" : code === "EACCES" ? "no permission to read it" : String(code);
    return new ConfigError(`the configuration file ${path} cannot be read: ${why}`, { cause: error });
  }
}
