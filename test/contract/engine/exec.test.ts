// Commands in containers, beside the files of the engines: the fake, which runs the rest of the contract, has no processes.

import { dockerSocket } from "../../support/docker-socket.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { execContract } from "./exec-contract.ts";

const socketPath = await dockerSocket();
const shared = { socketPath: socketPath ?? "", [Symbol.asyncDispose]: async () => undefined };
const missing = socketPath === undefined ? "no Docker engine answers on this machine" : undefined;

execContract("Docker", async () => shared, missing);
execContract("Podman", startPodman, await podmanUnavailableReason());
