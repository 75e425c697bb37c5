import { ConfigError } from "./config-error.ts";

/** What `read` answers, or why the configuration cannot be used. */
export function tryConfig<T>(read: () => T): T | ConfigError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
