import { readFileSync } from "node:fs";
import { jsonErrorPosition } from "../../lib/parse-json.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { type RequestIssue, listIssues } from "../../protocol/errors/request-error.ts";
import { ConfigError } from "./config-error.ts";
import { type ConfigFile, configSchema } from "./schema.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** The configuration, with the content of the files it refers to. */
export interface Config extends ConfigFile {
  readonly token: string;
  /** PEM text of `extra_ca_file`. */
  readonly extraCa: string | undefined;
  /** Path of the configuration file. */
  readonly path: string;
}

/** Reads and checks a configuration file. Throws `ConfigError`. */
export function loadConfig(path: string): Config {
  const file = readConfigFile(path);
  const token = file.device_token ?? readText(file.device_token_file ?? "", "device_token_file").trim();
  // A space or line break cannot be sent in a header: the file contains something else.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new ConfigError(`${path}: the device token is empty or contains invalid characters`);
  }
  const extraCa = readCertificates(path, "extra_ca_file", file.extra_ca_file);
  // Read again at each pull; checked here to report errors early.
  for (const { host, ca_file: ca } of file.registries) readCertificates(path, `ca_file of ${host}`, ca);
  return { ...file, token, extraCa, path };
}

function readCertificates(path: string, what: string, file: string | undefined): string | undefined {
  const pem = file === undefined ? undefined : readText(file, what);
  if (pem === undefined || pem.includes("-----BEGIN CERTIFICATE-----")) return pem;
  throw new ConfigError(`${path}: ${what}: ${file} does not contain a PEM certificate`);
}

/** Reads and checks a configuration file, but not the files it refers to. Throws `ConfigError`. */
export function readConfigFile(path: string): ConfigFile {
  return parseConfig(readText(path, "the configuration file"), path);
}

/** Checks the text of a configuration file. Throws `ConfigError`. */
export function parseConfig(text: string, path: string): ConfigFile {
  let value: unknown;
  try {
    value = parseBoundedJson(text, "file");
  } catch (error) {
    if (error instanceof JsonLimitError) throw new ConfigError(`${path}: ${error.message}`);
    // The parser's message quotes the text around the error, which may contain the token.
    throw new ConfigError(`${path}: not valid JSON${position(error)}`);
  }
  const result = configSchema.safeParse(value, IN_WORDS);
  if (result.success) return result.data;
  const issues = listIssues(result.error, configSchema).map(describe);
  throw new ConfigError(`${path}: ${issues.join("; ")}`);
}

function describe({ path, reason }: RequestIssue): string {
  return path === "" ? reason : `${path}: ${reason}`;
}

function position(error: unknown): string {
  const text = jsonErrorPosition(error);
  return text === undefined ? "" : ` (${text})`;
}

function readText(path: string, what: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    const reasons: Record<string, string> = { ENOENT: "it does not exist", EACCES: "no permission to read it" };
    const kind = code === "EACCES" ? "forbidden" : "unreadable";
    throw new ConfigError(`${what} ${path} cannot be read: ${reasons[code] ?? code}`, {
      kind,
      file: { path, setting: what, isMissing: code === "ENOENT" },
      cause: error,
    });
  }
}
