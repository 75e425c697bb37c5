import { dockerSocket } from "../support/docker-socket.ts";

/** Path of the engine's socket. Throws where no engine answers. */
export async function engineSocket(): Promise<string> {
  const path = await dockerSocket();
  if (path === undefined) throw new Error("no container engine answers");
  return path;
}
