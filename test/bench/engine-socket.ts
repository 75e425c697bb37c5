import { dockerSocket } from "../support/docker-socket.ts";

/** Returns the path of the engine's socket. Rejects if no engine responds. */
export async function engineSocket(): Promise<string> {
  const path = await dockerSocket();
  if (path === undefined) throw new Error("no container engine responds");
  return path;
}
