import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import { canonicalRegistry } from "./address.ts";
import { runCredentialHelper } from "./credential-helper.ts";
import type { RegistryLogin } from "./login.ts";
import { parseBoundedJson } from "../../protocol/bounded-json.ts";

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
const DOCKER_HUB_SERVER = "https://index.docker.io/v1/";

/**
 * Returns Docker's login for a registry, from `DOCKER_CONFIG` or `~/.docker`, in Docker's order: the registry's helper, the
 * default credential store, the file. Errors: exit code 3 if the file or the helper cannot be used.
 */
export async function findDockerLogin(
  registry: string,
  { env, homeDirectory, interrupted }: Pick<Io, "env" | "homeDirectory" | "interrupted">,
): Promise<RegistryLogin | undefined> {
  const file = await readLogins(join(env["DOCKER_CONFIG"] || join(homeDirectory, ".docker"), "config.json"));
  const isSame = ([key]: [string, unknown]): boolean => registryOf(key) === registry;
  const helper = Object.entries(file.credHelpers).find(isSame)?.[1] ?? file.credsStore;
  const server = registry === "docker.io" ? DOCKER_HUB_SERVER : registry;
  const found = helper === undefined ? undefined : await runCredentialHelper(helper, server, env, interrupted);
  if (found) return found;
  const entry = Object.entries(file.auths).find(isSame)?.[1];
  return entry && loginOf(entry);
}

/** The registry of a key: a host, or a URL in old files. */
function registryOf(key: string): string {
  return canonicalRegistry(key.replace(/^https?:\/\//, "").replace(/\/.*$/, ""));
}

function loginOf(entry: z.output<typeof entrySchema>): RegistryLogin | undefined {
  const { auth = "", registrytoken, identitytoken } = entry;
  const decoded = Buffer.from(auth, "base64").toString().replace(/\0+$/, "");
  const [, username = entry.username ?? "", password = entry.password ?? ""] = /^([^:]*):(.*)$/s.exec(decoded) ?? [];
  if (registrytoken) return { kind: "token", token: registrytoken };
  if (identitytoken) return { kind: "identity", identityToken: identitytoken };
  return username === "" || password === "" ? undefined : { kind: "basic", username, password };
}

async function readLogins(path: string): Promise<z.output<typeof fileSchema>> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "{}";
    throw unreadable(path, error.code ?? "error");
  });
  try {
    return fileSchema.parse(parseBoundedJson(text, "file"));
  } catch {
    // Without a cause: the parser's message may quote a password.
    throw unreadable(path, "not a valid Docker config.json");
  }
}

function unreadable(path: string, reason: string): Failure {
  return new Failure(`The logins in ${path} cannot be read: ${reason}.`, { exitCode: EXIT.unauthorized });
}
