import type { RegistryAuth } from "../registry.ts";

/** Where credentials come from. */
export interface CredentialSource {
  /**
   * @param registry host with optional port as references name it, `docker.io` for Docker Hub
   * @returns `undefined` where there are none for it. Rejects with a `RegistryError` where they should be and cannot be
   *   had, or with the signal's reason.
   */
  lookup(registry: string, signal: AbortSignal): Promise<RegistryAuth | undefined>;
}

/** Asks one source after the other. */
export function firstOf(sources: readonly CredentialSource[]): CredentialSource {
  return {
    async lookup(registry, signal) {
      for (const source of sources) {
        const found = await source.lookup(registry, signal);
        if (found) return found;
      }
      return undefined;
    },
  };
}
