import { join } from "node:path";
import { startAgent, waitUntilOnline } from "../../scripts/system/agent.ts";
import { succeed } from "../support/command.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { type Bench, atMost, inMilliseconds } from "./result.ts";
import { startSystem } from "./system.ts";

/** Time from the agent's start until it is online, compared with a Node.js process that does nothing. */
export const execToOnline: Bench = {
  name: "exec-to-online",
  async run({ quick }) {
    await using system = await startSystem();
    await system.agent[Symbol.asyncDispose]();
    const settings = { controlPlaneUrl: system.control.agentUrl, deviceToken: system.registration.deviceToken };
    const result = await paired(
      quick ? 3 : 30,
      async () => {
        await using agent = await startAgent(join(system.folder, "device"), settings);
        return await waitUntilOnline(agent);
      },
      () => milliseconds(() => succeed("dist/node", ["--eval", "0"])),
    );
    const online = median(result.ours);
    const bare = median(result.reference);
    return {
      data: { ...result },
      rows: [
        {
          what: "agent: exec to online, median",
          value: inMilliseconds(online),
          reference: `node --eval 0: ${inMilliseconds(bare)}`,
          target: atMost(Math.max(150, Math.round(3 * bare)), "ms", online),
        },
      ],
    };
  },
};
