import { dockerSocket } from "../../support/docker-socket.ts";
import { engineContract } from "./engine-contract.ts";
import { realHarness } from "./real-harness.ts";

const socketPath = await dockerSocket();
const skip = socketPath === undefined ? "no Docker engine answers on this machine" : undefined;

engineContract("Docker", () => realHarness({ kind: "docker", socketPath: socketPath! }), skip);
