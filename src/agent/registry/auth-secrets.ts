import type { RegistryAuth } from "./registry.ts";

/** Returns the secrets in credentials, to mask them in a server's error text. */
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
