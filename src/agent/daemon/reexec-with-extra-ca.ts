import { parseCertificates, hasSystemCertificates } from "../net/trust.ts";
import type { Config } from "../config/load.ts";

/** Node.js reads it only at the start of a process. */
const VARIABLE = "NODE_EXTRA_CA_CERTS";
const SYSTEM_TOO = "--use-system-ca";

/**
 * Executes the process again (same process id) with `extra_ca_file` in `NODE_EXTRA_CA_CERTS`, so that all connections
 * share one set of trusted certificates. Each TLS context with its own set would take 3 to 6 MB. Must be called before
 * anything is opened.
 *
 * Returns the configuration without `extraCa` in the new process. Returns it unchanged if the process cannot be
 * executed again, if the variable is already set otherwise, or if the file is invalid, which is reported when
 * connecting.
 */
export function reexecWithExtraCa(config: Config): Config {
  const { extra_ca_file: file, extraCa } = config;
  if (file === undefined || extraCa === undefined) return config;
  if (process.env[VARIABLE] === file) return { ...config, extraCa: undefined };
  if (process.env[VARIABLE] === undefined && isValid(extraCa)) reexec(file);
  return config;
}

function isValid(pem: string): boolean {
  try {
    parseCertificates(pem, "extra_ca_file");
    return true;
  } catch {
    return false;
  }
}

function reexec(file: string): void {
  const { execPath, execArgv, argv, env } = process;
  const options = hasSystemCertificates() ? [...execArgv, SYSTEM_TOO] : execArgv;
  try {
    process.execve?.(execPath, [execPath, ...options, ...argv.slice(1)], { ...env, [VARIABLE]: file });
  } catch {
    // Not permitted on this system: each TLS context gets its own set of certificates.
  }
}
