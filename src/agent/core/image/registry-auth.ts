/** Credentials for a registry. */
export type RegistryAuth =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** A bearer token for the registry itself, sent as it is. */
  | { readonly kind: "token"; readonly token: string }
  /** A token for the registry's token server, exchanged there for bearer tokens. */
  | { readonly kind: "identity"; readonly username: string; readonly identityToken: string };
