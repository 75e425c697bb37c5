import { existsSync } from "node:fs";
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
  return await owningHarness(podman, { kind: "podman", checkHealth });
}

engineContract("Podman", setUp, await podmanUnavailableReason());
