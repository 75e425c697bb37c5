/** The configuration is not valid. The message names the file, each wrong key, and what was expected. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigError";
  }
}

/** Returns the result of `read`, or the `ConfigError` it throws. */
export function tryConfig<T>(read: () => T): T | ConfigError {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}
