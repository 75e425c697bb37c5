/** Why the configuration cannot be used: a file cannot be read, may not be read, or its content is not valid. */
export type ConfigErrorKind = "unreadable" | "forbidden" | "invalid";

interface UnreadableFile {
  readonly path: string;
  /** The setting that names it, or `the configuration file`. */
  readonly setting: string;
  readonly isMissing: boolean;
}

interface ConfigErrorFacts {
  readonly kind?: ConfigErrorKind;
  readonly file?: UnreadableFile;
}

/** The configuration cannot be used. The message names the file, each wrong key, and what was expected. */
export class ConfigError extends Error {
  readonly kind: ConfigErrorKind;
  /** The file that cannot be read. */
  readonly file: UnreadableFile | undefined;

  constructor(message: string, { kind = "invalid", file, ...options }: ErrorOptions & ConfigErrorFacts = {}) {
    super(message, options);
    this.name = "ConfigError";
    this.kind = kind;
    this.file = file;
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
