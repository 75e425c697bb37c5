import type { RegistryAuth } from "./registry.ts";

/** What of credentials must not show, where a server repeats what it was shown. */
export function authSecrets(auth: RegistryAuth | undefined): string[] {
  switch (auth?.kind) {
    case undefined:
      return [];
    case "basic":
      return [auth.password, Buffer.from(`${auth.username}:${auth.password}`).toString("base64")];
    case "token":
      return [auth.token];
    case "identity":
      return [auth.identityToken];
  }
}
