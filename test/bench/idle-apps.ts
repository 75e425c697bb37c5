import { setTimeout as sleep } from "node:timers/promises";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { engineSocket } from "./engine-socket.ts";
import { processorMs, residentBytes } from "./process-usage.ts";
import { type Bench, atMost, inMegabytes } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

const APPS = 24;

/** Memory and processor time of an idle agent with many apps to reconcile. */
export const idleApps: Bench = {
  name: "idle-apps",
  async run({ quick }) {
    await using image = await loadImage(await engineSocket(), await sleeperImage(), "bench");
    await using system = await startSystem({ deploy: { settle_window_s: 0 } });
    for (let app = 0; app < APPS; app++) {
      await deployed(system.target, { name: uniqueName(`idle${app}`), image: image.reference });
    }
    // Wait until startup and deployments have settled.
    await sleep(quick ? 2_000 : 20_000);
    const windowMs = quick ? 35_000 : 120_000;
    const before = processorMs(system.agent.pid);
    await sleep(windowMs);
    const percent = ((processorMs(system.agent.pid) - before) / windowMs) * 100;
    const memory = residentBytes(system.agent.pid);
    return {
      data: { apps: APPS, windowMs, cpuPercent: percent, rss: memory },
      rows: [
        { what: `agent idle, ${APPS} apps: memory (RSS)`, value: inMegabytes(memory) },
        {
          what: `agent idle, ${APPS} apps: processor over ${windowMs / 1000} s`,
          value: `${percent.toFixed(3)} %`,
          target: atMost(0.2, "%", percent),
        },
      ],
    };
  },
};
