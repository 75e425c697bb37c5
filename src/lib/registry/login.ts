/** Credentials for a registry. */
export type RegistryLogin =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** A bearer token for the registry itself, sent as it is. */
  | { readonly kind: "token"; readonly token: string }
  /** A token for the registry's token server, exchanged there for bearer tokens. */
  | { readonly kind: "identity"; readonly username: string; readonly identityToken: string };

export function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** Returns the secrets in credentials, to mask them in a server's error text. */
export function loginSecrets(login: RegistryLogin | undefined): string[] {
  switch (login?.kind) {
    case undefined:
      return [];
    case "basic":
      return [login.password, Buffer.from(`${login.username}:${login.password}`).toString("base64")];
    case "token":
      return [login.token];
    case "identity":
      return [login.identityToken];
  }
}
