import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { engineSocket } from "./engine-socket.ts";
import { processorMs, proportionalBytes } from "./process-usage.ts";
import { type Bench, atMost, inMegabytes, inMilliseconds } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

/** Memory and processor time of an idle agent with one app, compared with an idle Node.js at the same time. */
export const idle: Bench = {
  name: "idle",
  async run({ quick }) {
    await using image = await loadImage(await engineSocket(), await sleeperImage(), "bench");
    await using system = await startSystem();
    await deployed(system.target, { name: uniqueName("idle"), image: image.reference });
    using bare = idleNode();
    const pids = [system.agent.pid, bare.pid] as const;
    // What the deployment started ends in this time, and the agent collects its garbage twice: see `idle-gc.ts`.
    const deployedMs = processorMs(system.agent.pid);
    await sleep(quick ? 2_000 : 75_000);
    const afterwardsMs = processorMs(system.agent.pid) - deployedMs;
    const windowMs = quick ? 10_000 : 60_000;
    const before = pids.map(processorMs);
    await sleep(windowMs);
    const [agent = 0, node = 0] = pids.map(
      (pid, index) => ((processorMs(pid) - (before[index] ?? 0)) / windowMs) * 100,
    );
    const [agentBytes, nodeBytes] = [proportionalBytes(pids[0]), proportionalBytes(pids[1])];
    return {
      data: {
        windowMs,
        afterwardsMs,
        agent: { cpuPercent: agent, pss: agentBytes },
        node: { cpuPercent: node, pss: nodeBytes },
      },
      rows: [
        {
          what: "agent idle, one app: memory (PSS)",
          value: inMegabytes(agentBytes),
          reference: `bare Node.js: ${inMegabytes(nodeBytes)}`,
          ratio: agentBytes / nodeBytes,
          target: atMost(60, "MB", agentBytes / 1e6),
        },
        {
          what: `agent idle, one app: processor over ${windowMs / 1000} s`,
          value: inPercent(agent),
          reference: `bare Node.js: ${inPercent(node)}`,
          target: atMost(0.1, "%", agent),
        },
        { what: "the same, once after each deployment", value: inMilliseconds(afterwardsMs) },
      ],
    };
  },
};

const inPercent = (value: number): string => `${value.toFixed(3)} %`;

function idleNode(): { readonly pid: number } & Disposable {
  const child = spawn("dist/node", ["--eval", "setInterval(() => {}, 2 ** 30)"], { stdio: "ignore" });
  if (child.pid === undefined) throw new Error("cannot start node");
  return { pid: child.pid, [Symbol.dispose]: () => void child.kill() };
}
