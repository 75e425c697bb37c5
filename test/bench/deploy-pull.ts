import { succeed } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { bigImage, removeImage, uniqueName } from "../support/images.ts";
import { Registry } from "../support/registry.ts";
import { pullByEngine, runByEngine } from "./engine-alone.ts";
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
    const rounds = quick ? 2 : 12;
    let references = 0;
    const byHand = async (round: number): Promise<number> => {
      const image = await publishImage(`reference-${++references}`);
      const args = ["run", "-d", "-p", `${await freeHostPort()}:80`, "--name", uniqueName(`b${round}`), image];
      return await milliseconds(async () => {
        await succeed("docker", ["pull", image]);
        await succeed("docker", args);
      });
    };
    const result = await paired(
      rounds,
      async (round) => {
        const image = await publishImage(`ours-${round}`);
        const ports = [{ host_port: await freeHostPort(), target_port: 80 }];
        return await milliseconds(() => deployed(system.target, { name: uniqueName(`a${round}`), image, ports }));
      },
      byHand,
    );
    const alone = await paired(
      rounds,
      async (round) => {
        const image = await publishImage(`alone-${round}`);
        const run = { name: uniqueName(`c${round}`), image, hostPort: await freeHostPort(), targetPort: 80 };
        return await milliseconds(async () => {
          await pullByEngine(socket, image);
          await runByEngine(socket, run);
        });
      },
      byHand,
    );
    return {
      data: { ...result, alone, megabytes: MEGABYTES },
      rows: [
        {
          what: `deploy with pull of ${MEGABYTES} MB, median`,
          value: inMilliseconds(median(result.ours)),
          reference: `docker pull + run: ${inMilliseconds(median(result.reference))}`,
          ratio: result.ratio,
          target: atMost(1.05, "x", result.ratio),
        },
        {
          what: "the engine's API alone: pull, create and start",
          value: inMilliseconds(median(alone.ours)),
          reference: `docker pull + run: ${inMilliseconds(median(alone.reference))}`,
          ratio: alone.ratio,
        },
      ],
    };
  },
};
