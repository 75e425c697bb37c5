import type { RegistryAuth } from "../../core/image/registry-auth.ts";
import { parseImageReference } from "../../../protocol/image-reference.ts";

/** Under this address engines know Docker Hub's logins. */
const DOCKER_HUB_SERVER = "https://index.docker.io/v1/";

/** Credentials as an engine's pull takes them: the content of the header `X-Registry-Auth`. */
export function authConfig(auth: RegistryAuth | undefined, reference: string): Record<string, string> | undefined {
  const registry = parseImageReference(reference)?.registry ?? "";
  const serveraddress = registry === "docker.io" ? DOCKER_HUB_SERVER : registry;
  switch (auth?.kind) {
    case undefined:
      return undefined;
    case "basic":
      return { username: auth.username, password: auth.password, serveraddress };
    case "token":
      return { registrytoken: auth.token, serveraddress };
    case "identity":
      return { username: auth.username, identitytoken: auth.identityToken, serveraddress };
  }
}
