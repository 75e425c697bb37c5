import { dockerSocket } from "../../support/docker-socket.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { deployedContainerSuite } from "./deployed-container.ts";

const socketPath = await dockerSocket();

deployedContainerSuite(
  "a container in the machine's Docker",
  async () => ({
    kind: "docker",
    socketPath: socketPath!,
    notPrivileged: "the suite with an engine of its own covers it",
    [Symbol.asyncDispose]: async () => {},
  }),
  socketPath === undefined ? "no Docker engine answers on this machine" : undefined,
);

deployedContainerSuite(
  "a container in a Docker of the test's own",
  async () => {
    const engine = await PrivateEngine.start();
    return {
      kind: "docker",
      socketPath: engine.socketPath,
      [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
    };
  },
  await privateEngineUnavailableReason(),
);
