import { readFile } from "node:fs/promises";
import { z } from "zod";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { canonicalRegistry } from "./address.ts";
import type { RunHelper } from "./credential-helper.ts";
import type { RegistryLogin } from "./login.ts";

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

export interface DockerLoginOptions {
  readonly runHelper: RunHelper;
  /** Makes the error of a file that cannot be read. */
  readonly toError: (message: string, cause?: unknown) => Error;
}

/** Key of Docker Hub's login. */
const DOCKER_HUB_SERVER = "https://index.docker.io/v1/";

/**
 * Returns the login for a registry from a Docker `config.json` (or Podman `auth.json`), in Docker's order: the registry's helper,
 * the default credential store, the file. A file that does not exist has none.
 */
export async function findDockerLogin(
  path: string,
  name: string,
  { runHelper, toError }: DockerLoginOptions,
  signal: AbortSignal,
): Promise<RegistryLogin | undefined> {
  const file = await readConfig(path, toError, signal);
  const registry = canonicalRegistry(name);
  const isSame = ([key]: [string, unknown]): boolean => registryOf(key) === registry;
  const server = registry === "docker.io" ? DOCKER_HUB_SERVER : registry;
  const helper = Object.entries(file.credHelpers).find(isSame)?.[1] ?? file.credsStore;
  const found = helper === undefined ? undefined : await runHelper(helper, server, signal);
  if (found) return found;
  const entry = Object.entries(file.auths).find(isSame)?.[1];
  return entry && loginOf(entry);
}

/** Returns the registry of a key: a host, or a URL in old files. */
function registryOf(key: string): string {
  return canonicalRegistry(key.replace(/^https?:\/\//, "").replace(/\/.*$/, ""));
}

function loginOf({ auth, username, password, identitytoken, registrytoken }: Entry): RegistryLogin | undefined {
  const decoded = Buffer.from(auth ?? "", "base64")
    .toString()
    .replace(/\0+$/, "");
  const [, user = username ?? "", secret = password ?? ""] = /^([^:]*):(.*)$/s.exec(decoded) ?? [];
  if (registrytoken) return { kind: "token", token: registrytoken };
  if (identitytoken) return { kind: "identity", username: user, identityToken: identitytoken };
  return user === "" || secret === "" ? undefined : { kind: "basic", username: user, password: secret };
}

async function readConfig(
  path: string,
  toError: DockerLoginOptions["toError"],
  signal: AbortSignal,
): Promise<z.output<typeof fileSchema>> {
  let text: string;
  try {
    text = await readFile(path, { encoding: "utf8", signal });
  } catch (error) {
    signal.throwIfAborted();
    const { code = "error" } = error as NodeJS.ErrnoException;
    // No login yet.
    if (code === "ENOENT") return fileSchema.parse({});
    throw toError(`logins in ${path} cannot be read: ${code}`, error);
  }
  try {
    return fileSchema.parse(parseBoundedJson(text, "file"));
  } catch {
    // Without a cause: the parser's message may quote a password.
    throw toError(`logins in ${path} cannot be read: not a valid Docker config.json`);
  }
}
