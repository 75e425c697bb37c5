/** The configuration cannot be used. The message names the file, each wrong key, and what was expected. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigError";
  }
}

/** What `read` answers, or why the configuration cannot be used. */
export function tryConfig<T>(read: () => T): T | ConfigError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
