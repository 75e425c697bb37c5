import type { Clock } from "../../../lib/clock.ts";
import { createHelperClient, type RunHelper } from "../../../lib/registry/credential-helper.ts";
import { findDockerLogin } from "../../../lib/registry/docker-logins.ts";
import { RegistryError } from "../registry-error.ts";
import { type ConfiguredRegistry, configuredCredentials } from "./configured-credentials.ts";
import { type CredentialSource, firstOf } from "./credential-source.ts";

const HELPER_TIMEOUT_MS = 20_000;

/** Returns the device's own credentials: from its configuration, then from `docker_config_file` if set. */
export function deviceCredentials(
  config: {
    readonly registries: readonly ConfiguredRegistry[];
    readonly docker_config_file?: string | undefined;
  },
  clock: Clock,
): CredentialSource {
  const configured = configuredCredentials(config.registries);
  if (config.docker_config_file === undefined) return configured;
  return firstOf([configured, dockerCredentials(config.docker_config_file, deviceHelpers(clock))]);
}

/** Returns the logins of a Docker `config.json`. Read each time, since logins are renewed. */
export function dockerCredentials(path: string, runHelper: RunHelper): CredentialSource {
  const options = { runHelper, toError: unreadable };
  return { lookup: (registry, signal) => findDockerLogin(path, registry, options, signal) };
}

/** Returns a function that runs credential helpers. */
export function deviceHelpers(clock: Clock, timeoutMs: number = HELPER_TIMEOUT_MS): RunHelper {
  return createHelperClient({ clock, timeoutMs, toError: helperFailed });
}

function unreadable(message: string, cause?: unknown): RegistryError {
  return new RegistryError("image_denied", `the ${message}`, { cause });
}

/** Retryable: helpers of cloud providers use the network. */
function helperFailed(message: string): RegistryError {
  return new RegistryError("registry_unreachable", `the ${message}`);
}
