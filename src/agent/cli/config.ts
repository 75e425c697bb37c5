import { MASK } from "../../lib/redact.ts";
import { loadConfig } from "../config/load.ts";

/** Says that the configuration can be used. Throws `ConfigError` otherwise. */
export function checkConfig(path: string): void {
  const { control_plane_url: url } = loadConfig(path);
  process.stdout.write(`${path} is valid; the control plane is ${url}\n`);
}

/** Prints the configuration in force. */
export function showConfig(path: string): void {
  const { token: _token, extraCa: _extraCa, path: _path, ...file } = loadConfig(path);
  const masked = { ...file, ...(file.device_token !== undefined && { device_token: MASK }) };
  process.stdout.write(`${JSON.stringify(masked, undefined, 2)}\n`);
}
