import { join } from "node:path";
import { succeed } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { loadImage, uniqueName, WEB_PORT, webImage } from "../support/images.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { atMost, type Bench, inMilliseconds } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

/** Duration of `edge-agent status` with one app, compared with a Node.js process that does nothing. */
export const statusCommand: Bench = {
  name: "status-command",
  async run({ quick }) {
    await using image = await loadImage(await engineSocket(), await webImage(), "bench");
    await using system = await startSystem({ deploy: { settle_window_s: 0 } });
    const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
    await deployed(system.target, { name: uniqueName("status"), image: image.reference, ports });
    const configFile = join(system.folder, "device", "agent.json");
    const result = await paired(
      quick ? 3 : 30,
      () => milliseconds(() => succeed("dist/edge-agent", ["status", "--config", configFile])),
      () => milliseconds(() => succeed("dist/node", ["--eval", "0"])),
    );
    const answered = median(result.ours);
    return {
      data: { ...result },
      rows: [
        {
          what: "edge-agent status, median",
          value: inMilliseconds(answered),
          reference: `node --eval 0: ${inMilliseconds(median(result.reference))}`,
          target: atMost(70, "ms", answered),
        },
      ],
    };
  },
};
