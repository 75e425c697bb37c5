import { parseCertificates, hasSystemCertificates } from "../net/trust.ts";
import type { Config } from "../config/load.ts";

/** Read by Node.js once, when a process starts. */
const VARIABLE = "NODE_EXTRA_CA_CERTS";
const SYSTEM_TOO = "--use-system-ca";

/**
 * Answers the configuration for a process that trusts `extra_ca_file` for every connection, and where it does not yet,
 * begins anew with it in the environment: under the same process id, before anything was opened. All connections share
 * one set of certificates then; each context that is made by hand holds a copy of it, and their text, 3 to 6 MB.
 *
 * Where it cannot be begun anew, or somebody else has set that variable, the answer is the configuration as it is: then
 * contexts are made by hand. So also where the file is broken, which is told with the attempts to connect.
 */
export function reexecWithExtraCa(config: Config): Config {
  const { extra_ca_file: file, extraCa } = config;
  if (file === undefined || extraCa === undefined) return config;
  if (process.env[VARIABLE] === file) return { ...config, extraCa: undefined };
  if (process.env[VARIABLE] === undefined && isSound(extraCa)) reexec(file);
  return config;
}

function isSound(pem: string): boolean {
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
    // A system that does not allow it: contexts are made by hand.
  }
}
