import { existsSync } from "node:fs";
import { engineRequest } from "../../support/images.ts";
import { podmanMissing, startPodman } from "../../support/podman-service.ts";
import { engineContract } from "./engine-contract.ts";
import { realHarness } from "./real-harness.ts";

async function setUp() {
  const podman = await startPodman();
  const { socketPath } = podman;
  const checkHealth = async (id: string): Promise<void> => {
    if (existsSync("/run/systemd/system")) return;
    await engineRequest(socketPath, "GET", `/v4.0.0/libpod/containers/${id}/healthcheck`);
  };
  try {
    const harness = await realHarness({ kind: "podman", socketPath, checkHealth });
    const dispose = async (): Promise<void> => {
      await harness[Symbol.asyncDispose]();
      await podman[Symbol.asyncDispose]();
    };
    return { ...harness, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await podman[Symbol.asyncDispose]();
    throw error;
  }
}

engineContract("Podman", setUp, await podmanMissing());
