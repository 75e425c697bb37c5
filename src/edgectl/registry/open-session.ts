import { readRegistryAuth } from "../deploy/execution-options.ts";
import type { Io } from "../io.ts";
import { parseAddress } from "./address.ts";
import { findDockerLogin } from "./docker-login.ts";
import type { RegistryLogin } from "./login.ts";
import { RegistrySession } from "./session.ts";

/** The options for a registry, as commander passes them. */
export interface RegistryOptions {
  readonly registryUser?: string;
  readonly registryPasswordFile?: string;
  readonly registryTokenFile?: string;
  readonly plainHttp?: boolean;
}

/** Opens sessions with the credentials of the options, or else those that Docker has for the registry. */
export async function openSessions(
  references: readonly string[],
  options: RegistryOptions,
  io: Io,
): Promise<readonly RegistrySession[]> {
  const addresses = references.map(parseAddress);
  const given = await readRegistryAuth(options, io);
  const own: RegistryLogin | undefined =
    given && ("token" in given ? { kind: "token", token: given.token } : { kind: "basic", ...given });
  const sessions: RegistrySession[] = [];
  for (const address of addresses) {
    // Given credentials are for one registry: that of the first image.
    const isFirst = address.registry === addresses[0]?.registry;
    const login = (isFirst ? own : undefined) ?? (await findDockerLogin(address.registry, io));
    sessions.push(new RegistrySession({ address, login, isPlain: options.plainHttp ?? false, io }));
  }
  return sessions;
}
