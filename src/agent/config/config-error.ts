/** The configuration cannot be used. The message names the file, each wrong key, and what was expected. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigError";
  }
}
