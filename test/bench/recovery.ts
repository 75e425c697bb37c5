import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LABELS } from "../../src/agent/core/app/container.ts";
import { startAgent, waitUntilOnline } from "../../scripts/system/agent.ts";
import { deploy } from "../../scripts/system/client.ts";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { listContainers } from "../support/system/engine-containers.ts";
import { waitFor } from "../support/wait-for.ts";
import { engineSocket } from "./engine-socket.ts";
import { median } from "./measure.ts";
import { type Bench, atMost, inMilliseconds } from "./result.ts";
import { startSystem } from "./system.ts";

/** Time from the restart of an agent killed at the start of a deployment until the app runs. */
export const recovery: Bench = {
  name: "recovery",
  async run({ quick }) {
    const socket = await engineSocket();
    await using image = await loadImage(socket, await sleeperImage(), "bench");
    await using system = await startSystem();
    const folder = join(system.folder, "device");
    const settings = { controlPlaneUrl: system.control.agentUrl, deviceToken: system.registration.deviceToken };
    const times: number[] = [];
    let agent = system.agent;
    for (let round = 0; round < (quick ? 2 : 10); round++) {
      const name = uniqueName(`r${round}`);
      const events = deploy(system.target, { name, image: image.reference });
      for await (const { step } of events) if (step === "checking") break;
      process.kill(agent.pid, "SIGKILL");
      const killedAt = performance.now();
      await agent[Symbol.asyncDispose]();
      agent = await startAgent(folder, settings);
      await waitFor("the app to run", () => isRunning(socket, name), { intervalMs: 5 });
      times.push(performance.now() - killedAt);
      await waitUntilOnline(agent);
      // Wait for the acknowledged final event, so that the next round begins idle.
      await sleep(4_000);
    }
    await agent[Symbol.asyncDispose]();
    const middle = median(times);
    return {
      data: { times },
      rows: [
        {
          what: "killed in mid-deployment, image present: until the app runs, median",
          value: inMilliseconds(middle),
          target: atMost(1_500, "ms", middle),
        },
      ],
    };
  },
};

async function isRunning(socket: string, app: string): Promise<boolean> {
  const containers = await listContainers(socket);
  return containers.some(({ State, Labels }) => Labels?.[LABELS.app] === app && State === "running");
}
