import { engineRequest } from "./images/load-image.ts";

/** Returns the socket path of this machine's Docker engine; `undefined` if none responds. */
export async function dockerSocket(): Promise<string | undefined> {
  const fromEnvironment = /^unix:\/\/(.+)/.exec(process.env["DOCKER_HOST"] ?? "")?.[1];
  const candidates = fromEnvironment === undefined ? ["/run/docker.sock", "/var/run/docker.sock"] : [fromEnvironment];
  for (const path of candidates) {
    const response = await engineRequest(path, "GET", "/_ping").catch(() => undefined);
    if (response?.status === 200) return path;
  }
  return undefined;
}
