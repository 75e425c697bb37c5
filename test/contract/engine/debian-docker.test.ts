import { debianDocker } from "../../support/private-engine/current-docker.ts";
import { engineContract, IMAGE_PARTS } from "./engine-contract.ts";
import { ownDockerHarness } from "./own-docker-harness.ts";
import { stateContract } from "./state-contract.ts";

const { name, missing, engine } = await debianDocker();

// The machine's Docker has the same image store, and the newest one the same interface: new is how the two go together, and
// what becomes of a container that cannot be removed.
engineContract(name, () => ownDockerHarness(engine), missing, [...IMAGE_PARTS, stateContract]);
