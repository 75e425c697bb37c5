import type { Clock } from "../../../lib/clock.ts";
import { type ConfiguredRegistry, configuredCredentials } from "./configured-credentials.ts";
import { createHelperClient } from "./credential-helper.ts";
import { type CredentialSource, firstOf } from "./credential-source.ts";
import { dockerCredentials } from "./docker-credentials.ts";

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
  return firstOf([configured, dockerCredentials(config.docker_config_file, createHelperClient(clock))]);
}
