import { readFile } from "node:fs/promises";
import { z } from "zod";
import { canonicalRegistry } from "../address.ts";
import { RegistryError } from "../registry-error.ts";
import type { RegistryAuth } from "../registry.ts";
import type { CredentialSource } from "./credential-source.ts";

/** Asks a credential helper by its short name, such as `pass`, for the server a login was made to. */
export type AskHelper = (name: string, server: string, signal: AbortSignal) => Promise<RegistryAuth | undefined>;

const entrySchema = z.object({
  auth: z.string().optional(),
  username: z.string().optional(),
  password: z.string().optional(),
  identitytoken: z.string().optional(),
  registrytoken: z.string().optional(),
});

const fileSchema = z.object({
  auths: z.record(z.string(), entrySchema).default({}),
  credsStore: z.string().optional(),
  credHelpers: z.record(z.string(), z.string()).default({}),
});

type Entry = z.output<typeof entrySchema>;

/** Under this name logins to Docker Hub are kept. */
const DOCKER_HUB_SERVER = "https://index.docker.io/v1/";

/**
 * The logins in a `config.json` of Docker (or `auth.json` of Podman), asked for as Docker does: the registry's own
 * helper, the store for all, the file itself. Read each time, since logins are renewed.
 */
export function dockerCredentials(path: string, askHelper: AskHelper): CredentialSource {
  return {
    async lookup(name, signal) {
      const file = await readConfig(path, signal);
      const registry = canonicalRegistry(name);
      const server = registry === "docker.io" ? DOCKER_HUB_SERVER : registry;
      const [, own] = Object.entries(file.credHelpers).find(([key]) => registryOf(key) === registry) ?? [];
      const helper = own ?? file.credsStore;
      const found = helper === undefined ? undefined : await askHelper(helper, server, signal);
      if (found) return found;
      const [, entry] = Object.entries(file.auths).find(([key]) => registryOf(key) === registry) ?? [];
      return entry && authOf(entry);
    },
  };
}

/** Logins are kept under hosts, or under addresses from before there was a version 2. */
function registryOf(key: string): string {
  return canonicalRegistry(key.replace(/^https?:\/\//, "").replace(/\/.*$/, ""));
}

function authOf({ auth, username, password, identitytoken, registrytoken }: Entry): RegistryAuth | undefined {
  const [, user = username ?? "", secret = password ?? ""] =
    /^([^:]*):(.*)$/s.exec(
      Buffer.from(auth ?? "", "base64")
        .toString()
        .replace(/\0+$/, ""),
    ) ?? [];
  if (registrytoken) return { kind: "token", token: registrytoken };
  if (identitytoken) return { kind: "identity", username: user, identityToken: identitytoken };
  return user === "" || secret === "" ? undefined : { kind: "basic", username: user, password: secret };
}

async function readConfig(path: string, signal: AbortSignal): Promise<z.output<typeof fileSchema>> {
  let text: string;
  try {
    text = await readFile(path, { encoding: "utf8", signal });
  } catch (error) {
    signal.throwIfAborted();
    const { code = "error" } = error as NodeJS.ErrnoException;
    // Nobody has logged in yet.
    if (code === "ENOENT") return fileSchema.parse({});
    throw new RegistryError("image_denied", `the logins in ${path} cannot be read: ${code}`, { cause: error });
  }
  try {
    return fileSchema.parse(JSON.parse(text));
  } catch {
    // Without a cause: what the parser quotes may be a password.
    throw new RegistryError("image_denied", `the logins in ${path} cannot be read: it is no config.json of Docker`);
  }
}
