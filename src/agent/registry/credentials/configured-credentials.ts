import { readFile } from "node:fs/promises";
import { canonicalRegistry } from "../../../lib/registry/address.ts";
import { RegistryError } from "../registry-error.ts";
import type { CredentialSource } from "./credential-source.ts";

/** Credentials of one registry in the configuration; at most one of the four kinds. */
export interface ConfiguredRegistry {
  readonly host: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Read each time, so that a new password needs no restart of the agent. */
  readonly password_file?: string | undefined;
  readonly token?: string | undefined;
  readonly identity_token?: string | undefined;
}

/** Returns the credentials in the agent's configuration. */
export function configuredCredentials(registries: readonly ConfiguredRegistry[]): CredentialSource {
  const byName = new Map(registries.map((entry) => [canonicalRegistry(entry.host), entry]));
  return {
    async lookup(registry, signal) {
      const entry = byName.get(canonicalRegistry(registry));
      if (!entry) return undefined;
      const { username = "", password, password_file: file, token, identity_token: identityToken } = entry;
      if (token !== undefined) return { kind: "token", token };
      if (identityToken !== undefined) return { kind: "identity", username, identityToken };
      const secret = password ?? (file === undefined ? undefined : await readPassword(registry, file, signal));
      return secret === undefined ? undefined : { kind: "basic", username, password: secret };
    },
  };
}

async function readPassword(registry: string, file: string, signal: AbortSignal): Promise<string> {
  const reason = `the password for ${registry} cannot be read from ${file}`;
  try {
    const text = (await readFile(file, { encoding: "utf8", signal })).trim();
    if (text !== "") return text;
  } catch (error) {
    signal.throwIfAborted();
    throw new RegistryError("image_denied", `${reason}: ${(error as NodeJS.ErrnoException).code ?? "error"}`, {
      cause: error,
    });
  }
  throw new RegistryError("image_denied", `${reason}: the file is empty`);
}
