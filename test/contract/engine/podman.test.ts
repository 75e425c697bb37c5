import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { engineRequest } from "../../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../../support/podman-service.ts";
import { engineContract } from "./engine-contract.ts";
import { owningHarness } from "./real-harness.ts";

async function setUp() {
  const podman = await startPodman();
  const { socketPath } = podman;
  const checkHealth = async (id: string): Promise<void> => {
    if (existsSync("/run/systemd/system")) return;
    await engineRequest(socketPath, "GET", `/v4.0.0/libpod/containers/${id}/healthcheck`);
  };
  // It removes none that a container is on, stopped or not.
  const removeNetwork = (name: string): Promise<void> => rm(join(podman.networkDirectory, `${name}.json`));
  return await owningHarness(podman, { kind: "podman", checkHealth, removeNetwork });
}

engineContract("Podman", setUp, await podmanUnavailableReason());
