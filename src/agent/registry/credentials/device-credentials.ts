import type { Clock } from "../../../lib/clock.ts";
import { type ConfiguredRegistry, configuredCredentials } from "./configured-credentials.ts";
import { createHelperClient } from "./credential-helper.ts";
import { type CredentialSource, firstOf } from "./credential-source.ts";
import { dockerCredentials } from "./docker-credentials.ts";

/** The credentials a device has by itself: those of its configuration first, then those of Docker's, where named. */
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
