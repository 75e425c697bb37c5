import { engineRequest } from "./images/load-image.ts";

/** Path of the socket of the Docker engine that runs on this machine; `undefined` where none answers. */
export async function dockerSocket(): Promise<string | undefined> {
  const fromEnvironment = /^unix:\/\/(.+)/.exec(process.env["DOCKER_HOST"] ?? "")?.[1];
  const candidates = fromEnvironment === undefined ? ["/run/docker.sock", "/var/run/docker.sock"] : [fromEnvironment];
  for (const path of candidates) {
    const answer = await engineRequest(path, "GET", "/_ping").catch(() => undefined);
    if (answer?.status === 200) return path;
  }
  return undefined;
}
