/** Why the configuration cannot be used: a file cannot be read, may not be read, or its content is not valid. */
export type ConfigErrorKind = "unreadable" | "forbidden" | "invalid";

/** The configuration cannot be used. The message names the file, each wrong key, and what was expected. */
export class ConfigError extends Error {
  readonly kind: ConfigErrorKind;

  constructor(message: string, { kind = "invalid", ...options }: ErrorOptions & { kind?: ConfigErrorKind } = {}) {
    super(message, options);
    this.name = "ConfigError";
    this.kind = kind;
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
