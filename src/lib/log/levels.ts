/** Log levels, the most severe first. Apart from the logger, so that configuration schemas do not load pino. */
export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
