import { usageFailure } from "../failure.ts";

export interface EnvironmentEntry {
  readonly key: string;
  /** Absent for a secret that keeps the value it has in the app file or on the device. */
  readonly value?: string;
  readonly secret?: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Parses one `--env`: `KEY=VALUE`, or `KEY` alone for its value in this shell, which keeps a secret out of the process
 * list. Errors may contain the key, never the value.
 */
export function parseEnv(text: string, env: Env): EnvironmentEntry {
  return parseAssignment(text, env, "--env");
}

/**
 * Parses one `--secret-env`: as `--env`, but a `KEY` alone that is not set in this shell has no value here. Errors may
 * contain the key, never the value.
 */
export function parseSecretEnv(text: string, env: Env): EnvironmentEntry {
  const isKept = !text.includes("=") && env[text] === undefined && text.trim() !== "";
  const entry = isKept ? { key: text } : parseAssignment(text, env, "--secret-env");
  return { ...entry, secret: true };
}

/**
 * Parses an environment file in the format of `docker run --env-file`: a line is `KEY=VALUE`, literal and without
 * quoting, or `KEY` alone. Empty lines and lines that begin with `#` are ignored.
 */
export function parseEnvFile(text: string, env: Env, fileName: string): EnvironmentEntry[] {
  return text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line, index) => ({ line: line.trimStart(), where: `${fileName}, line ${index + 1}` }))
    .filter(({ line }) => line !== "" && !line.startsWith("#"))
    .map(({ line, where }) => parseAssignment(line, env, where));
}

function parseAssignment(text: string, env: Env, where: string): EnvironmentEntry {
  const equals = text.indexOf("=");
  const key = (equals === -1 ? text : text.slice(0, equals)).trimEnd();
  if (key === "") throw usageFailure(`${where}: there is no variable name before the "=".`, "Write KEY=VALUE or KEY.");
  if (equals !== -1) return { key, value: text.slice(equals + 1) };
  const value = env[key];
  if (value === undefined) {
    throw usageFailure(`${where}: ${key} has no value, and is not set in this shell.`, `Write ${key}=VALUE.`);
  }
  return { key, value };
}
