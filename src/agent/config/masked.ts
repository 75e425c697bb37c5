import { MASK } from "../../lib/redact.ts";
import type { ConfigFile } from "./schema.ts";

/** The configuration for people to read: without the secrets in it. */
export function maskedConfig<C extends Pick<ConfigFile, "device_token" | "registries">>(config: C): C {
  const registries = config.registries.map((entry) => ({
    ...entry,
    ...(entry.password !== undefined && { password: MASK }),
    ...(entry.token !== undefined && { token: MASK }),
    ...(entry.identity_token !== undefined && { identity_token: MASK }),
  }));
  return { ...config, registries, ...(config.device_token !== undefined && { device_token: MASK }) };
}

/** The secrets that stand in the configuration itself. */
export function configSecrets({ registries }: Pick<ConfigFile, "registries">): string[] {
  return registries.flatMap((entry) =>
    [entry.password, entry.token, entry.identity_token].filter((text) => text !== undefined),
  );
}
