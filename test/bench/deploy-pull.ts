import { succeed } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, removeImage, uniqueName } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { type Bench, atMost, inMilliseconds } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

const MEGABYTES = 20;

/** Time of a deployment with a pull from a local registry, compared with `docker pull` and `docker run`. */
export const deployPull: Bench = {
  name: "deploy-pull",
  async run({ quick }) {
    const socket = await engineSocket();
    await using registry = await Registry.start();
    await using images = new AsyncDisposableStack();
    await using system = await startSystem({ deploy: { settle_window_s: 0 } });
    const publishImage = async (name: string): Promise<string> => {
      const reference = await registry.push(await bigImage(MEGABYTES), `${name}:1`);
      images.defer(() => removeImage(socket, reference));
      return reference;
    };
    const result = await paired(
      quick ? 2 : 12,
      async (round) => {
        const image = await publishImage(`ours-${round}`);
        const ports = [{ host_port: await freeHostPort(), target_port: 80 }];
        return await milliseconds(() => deployed(system.target, { name: uniqueName(`a${round}`), image, ports }));
      },
      async (round) => {
        const image = await publishImage(`reference-${round}`);
        const args = ["run", "-d", "-p", `${await freeHostPort()}:80`, "--name", uniqueName(`b${round}`), image];
        return await milliseconds(async () => {
          await succeed("docker", ["pull", image]);
          await succeed("docker", args);
        });
      },
    );
    return {
      data: { ...result, megabytes: MEGABYTES },
      rows: [
        {
          what: `deploy with pull of ${MEGABYTES} MB, median`,
          value: inMilliseconds(median(result.ours)),
          reference: `docker pull + run: ${inMilliseconds(median(result.reference))}`,
          ratio: result.ratio,
          target: atMost(1.05, "x", result.ratio),
        },
      ],
    };
  },
};
