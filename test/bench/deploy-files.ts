import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { type Bench, atMost, inMilliseconds } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

const FILES = 10;
const MAX_MORE_MS = 10;
/** As long as a configuration usually is. */
const CONTENT = "setting = value\n".repeat(64);

/** What ten files add to the time of a deployment. */
export const deployFiles: Bench = {
  name: "deploy-files",
  async run({ quick }) {
    await using image = await loadImage(await engineSocket(), await sleeperImage(), "bench");
    await using system = await startSystem({ deploy: { settle_window_s: 0 } });
    const files = Array.from({ length: FILES }, (_, index) => ({
      target: `/etc/app/${index}.conf`,
      content: CONTENT,
    }));
    const result = await paired(
      quick ? 5 : 21,
      async (round) => {
        const app = { name: uniqueName(`f${round}`), image: image.reference, files };
        return await milliseconds(() => deployed(system.target, app));
      },
      async (round) => {
        const app = { name: uniqueName(`n${round}`), image: image.reference };
        return await milliseconds(() => deployed(system.target, app));
      },
    );
    const more = median(result.ours.map((ms, round) => ms - (result.reference[round] ?? ms)));
    return {
      data: { ...result, more },
      rows: [
        {
          what: `deploy with ${FILES} files, median of the difference`,
          value: inMilliseconds(more),
          reference: `without: ${inMilliseconds(median(result.reference))}`,
          target: atMost(MAX_MORE_MS, "ms", more),
        },
      ],
    };
  },
};
