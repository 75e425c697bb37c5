import { dockerSocket } from "../../support/docker-socket.ts";
import { containerOptionsSuite } from "./container-options.ts";

const socketPath = await dockerSocket();

containerOptionsSuite(
  "an option of a container in the machine's Docker",
  async () => ({ kind: "docker", socketPath: socketPath!, [Symbol.asyncDispose]: async () => {} }),
  socketPath === undefined ? "no Docker engine answers on this machine" : undefined,
);
