/** Credentials for a registry. */
export type RegistryLogin =
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  /** Exchanged for tokens at the registry's token server. */
  | { readonly kind: "identity"; readonly identityToken: string }
  /** Sent as it is. */
  | { readonly kind: "token"; readonly token: string };

export function basicHeader(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
