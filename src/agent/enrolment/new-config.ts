import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { writeAtomically } from "../../lib/write-atomically.ts";
import { ConfigError } from "../config/config-error.ts";
import { type Config, parseConfig } from "../config/load.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";

const TOKEN_MODE = 0o600;
const CA_MODE = 0o644;
const CA_NAME = "ca.pem";
const CONFIG_MODE = 0o640;
const DIRECTORY_MODE = 0o755;
/** Always removed: a user who can write the configuration controls the device. */
const OTHER_WRITE = 0o002;

/** The configuration of a device that is being enrolled, with the path for its token. */
export interface NewConfig extends Config {
  readonly device_token_file: string;
  /** Whether `extraCa` has to be written to `extra_ca_file`. */
  readonly hasNewCa: boolean;
}

/**
 * Returns the new configuration without writing it. Throws `ConfigError` if it is not valid.
 *
 * @param extraCa PEM text of the authority to trust, which gets a file beside the configuration; absent: as configured
 */
export function newConfig(path: string, url: string, token: string, extraCa?: string): NewConfig {
  const { device_token: _inline, ...kept } = readExisting(path);
  const tokenFile =
    typeof kept["device_token_file"] === "string" ? kept["device_token_file"] : join(dirname(resolve(path)), "token");
  const given = extraCa === undefined ? {} : { extra_ca_file: join(dirname(resolve(path)), CA_NAME) };
  const settings = { ...kept, ...given, control_plane_url: url, device_token_file: tokenFile };
  const file = parseConfig(JSON.stringify(settings), path);
  const pem = extraCa ?? (file.extra_ca_file === undefined ? undefined : readFileSync(file.extra_ca_file, "utf8"));
  return { ...file, token, extraCa: pem, path, device_token_file: tokenFile, hasNewCa: extraCa !== undefined };
}

/** Writes token and configuration, keeping all other keys. On disk when this returns. Throws if it cannot. */
export function storeConfig({ path, token, device_token_file: tokenFile, ...config }: NewConfig): void {
  makeDirectory(path);
  const owner = serviceUser(config.state_dir);
  writeAtomically(tokenFile, `${token}\n`, { mode: TOKEN_MODE, ...(owner && { owner }) });
  const { extra_ca_file: caFile, extraCa } = config;
  const ca = config.hasNewCa && caFile !== undefined && extraCa !== undefined ? { extra_ca_file: caFile } : {};
  if (ca.extra_ca_file !== undefined) writeAtomically(ca.extra_ca_file, extraCa ?? "", { mode: CA_MODE });
  const { device_token: _inline, ...kept } = readExisting(path);
  const content = { ...kept, ...ca, control_plane_url: config.control_plane_url, device_token_file: tokenFile };
  const before = statSync(path, { throwIfNoEntry: false });
  writeAtomically(path, `${JSON.stringify(content, undefined, 2)}\n`, {
    mode: before ? before.mode & 0o777 & ~OTHER_WRITE : CONFIG_MODE,
    ...(before && process.getuid?.() === 0 && { owner: { uid: before.uid, gid: before.gid } }),
  });
}

/** Creates the configuration's directory if it does not exist. */
export function makeDirectory(path: string): void {
  mkdirSync(dirname(resolve(path)), { recursive: true, mode: DIRECTORY_MODE });
}

function readExisting(path: string): Record<string, unknown> {
  if (!existsSync(path)) return {};
  try {
    const value = parseBoundedJson(readFileSync(path, "utf8"), "file");
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below, without the text, which may hold a token.
  }
  throw new ConfigError(`${path} exists and is not a JSON object; correct or remove it first`);
}

/** Returns the user that the service runs as, the owner of its state. `undefined` without root, or if there is no state. */
function serviceUser(stateDir: string): { readonly uid: number; readonly gid: number } | undefined {
  const state = statSync(stateDir, { throwIfNoEntry: false });
  return state && process.getuid?.() === 0 ? { uid: state.uid, gid: state.gid } : undefined;
}
