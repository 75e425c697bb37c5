import { MASK } from "../../lib/redact.ts";
import type { ConfigFile } from "./schema.ts";

/** Returns the configuration with its secrets masked. */
export function maskedConfig<C extends Pick<ConfigFile, "device_token" | "registries">>(config: C): C {
  const registries = config.registries.map((entry) => ({
    ...entry,
    ...(entry.password !== undefined && { password: MASK }),
    ...(entry.token !== undefined && { token: MASK }),
    ...(entry.identity_token !== undefined && { identity_token: MASK }),
  }));
  return { ...config, registries, ...(config.device_token !== undefined && { device_token: MASK }) };
}

/** Returns the registry secrets in the configuration itself. */
export function configSecrets({ registries }: Pick<ConfigFile, "registries">): string[] {
  return registries.flatMap((entry) =>
    [entry.password, entry.token, entry.identity_token].filter((text) => text !== undefined),
  );
}
