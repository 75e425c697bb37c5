// The contract on a Docker newer than Debian's, started for it: 29.7 with containerd's image store, the default since 29.

import { newestDocker } from "../../support/private-engine/current-docker.ts";
import { engineContract } from "./engine-contract.ts";
import { ownDockerHarness } from "./own-docker-harness.ts";

const { name, missing, engine } = await newestDocker();

engineContract(name, () => ownDockerHarness(engine), missing);
