import type { RegistryAuth } from "../registry.ts";

/** Looks up credentials of registries. */
export interface CredentialSource {
  /**
   * Resolves with `undefined` if there are none. Rejects with a `RegistryError` if they cannot be read, or with the signal's
   * reason.
   *
   * @param registry host with optional port as in references, `docker.io` for Docker Hub
   */
  lookup(registry: string, signal: AbortSignal): Promise<RegistryAuth | undefined>;
}

/** Returns a source that tries others in order. */
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
