import { readFile } from "node:fs/promises";
import { z } from "zod";
import { canonicalRegistry } from "../address.ts";
import { RegistryError } from "../registry-error.ts";
import type { RegistryAuth } from "../registry.ts";
import type { CredentialSource } from "./credential-source.ts";
import { parseBoundedJson } from "../../../protocol/bounded-json.ts";

/** Runs a credential helper by its short name, such as `pass`. Resolves with the login for a server, or `undefined`. */
export type RunHelper = (name: string, server: string, signal: AbortSignal) => Promise<RegistryAuth | undefined>;

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

/** Key of Docker Hub's login. */
const DOCKER_HUB_SERVER = "https://index.docker.io/v1/";

/**
 * Returns the logins of a Docker `config.json` (or Podman `auth.json`). Looks them up in Docker's order: the registry's
 * helper, the default credential store, the file. Read each time, since logins are renewed.
 */
export function dockerCredentials(path: string, runHelper: RunHelper): CredentialSource {
  return {
    async lookup(name, signal) {
      const file = await readConfig(path, signal);
      const registry = canonicalRegistry(name);
      const server = registry === "docker.io" ? DOCKER_HUB_SERVER : registry;
      const [, own] = Object.entries(file.credHelpers).find(([key]) => registryOf(key) === registry) ?? [];
      const helper = own ?? file.credsStore;
      const found = helper === undefined ? undefined : await runHelper(helper, server, signal);
      if (found) return found;
      const [, entry] = Object.entries(file.auths).find(([key]) => registryOf(key) === registry) ?? [];
      return entry && authOf(entry);
    },
  };
}

/** Returns the registry of a key: a host, or a URL in old files. */
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
    // No login yet.
    if (code === "ENOENT") return fileSchema.parse({});
    throw new RegistryError("image_denied", `the logins in ${path} cannot be read: ${code}`, { cause: error });
  }
  try {
    return fileSchema.parse(parseBoundedJson(text, "file"));
  } catch {
    // Without a cause: the parser's message may quote a password.
    throw new RegistryError("image_denied", `the logins in ${path} cannot be read: not a valid Docker config.json`);
  }
}
