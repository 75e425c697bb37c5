import { join } from "node:path";
import { createHelperClient } from "../../lib/registry/credential-helper.ts";
import { findDockerLogin } from "../../lib/registry/docker-logins.ts";
import type { RegistryLogin } from "../../lib/registry/login.ts";
import { readRegistryAuth } from "../deploy/execution-options.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { parseAddress } from "./address.ts";
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
    const login = (isFirst ? own : undefined) ?? (await dockerLogin(address.registry, io));
    sessions.push(new RegistrySession({ address, login, isPlain: options.plainHttp ?? false, io }));
  }
  return sessions;
}

/** Returns Docker's login for a registry, from `DOCKER_CONFIG` or `~/.docker`. Errors: exit code 3. */
async function dockerLogin(registry: string, io: Io): Promise<RegistryLogin | undefined> {
  const { env, clock, homeDirectory, interrupted } = io;
  const path = join(env["DOCKER_CONFIG"] || join(homeDirectory, ".docker"), "config.json");
  // Without a timeout: the helper may ask for a passphrase.
  const runHelper = createHelperClient({ clock, env, toError });
  return await findDockerLogin(path, registry, { runHelper, toError }, interrupted);
}

function toError(message: string): Failure {
  return new Failure(`The ${message}.`, { exitCode: EXIT.unauthorized });
}
