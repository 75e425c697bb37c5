import { rm } from "node:fs/promises";
import { join } from "node:path";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { engineContract } from "./engine-contract.ts";
import { owningHarness } from "./real-harness.ts";

async function setUp() {
  const podman = await startPodman();
  // It removes none that a container is on, stopped or not.
  const removeNetwork = (name: string): Promise<void> => rm(join(podman.networkDirectory, `${name}.json`));
  return await owningHarness(podman, { kind: "podman", removeNetwork });
}

engineContract("Podman", setUp, await podmanUnavailableReason());
