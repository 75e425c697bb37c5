import { succeed } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { WEB_PORT, loadImage, uniqueName, webImage } from "../support/images.ts";
import { runByEngine } from "./engine-alone.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, paired } from "./measure.ts";
import { type Bench, atMost, inMilliseconds } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

/**
 * Time from the HTTP request to `Success` with the image present, compared with `docker run -d -p` on a network where
 * containers find each other by name, as apps do.
 */
export const deployPresent: Bench = {
  name: "deploy-present",
  async run({ quick }) {
    await using system = await startSystem({ deploy: { settle_window_s: 0 } });
    const network = uniqueName("network");
    await succeed("docker", ["network", "create", network]);
    await using owned = new AsyncDisposableStack();
    // After the containers that are on it.
    owned.defer(async () => void (await succeed("docker", ["network", "rm", network])));
    const socket = await engineSocket();
    await using image = await loadImage(socket, await webImage(), "bench");
    const rounds = quick ? 3 : 15;
    const byHand = async (round: number): Promise<number> => {
      const publish = `${await freeHostPort()}:${WEB_PORT}`;
      const args = [
        "run",
        "-d",
        "-p",
        publish,
        "--network",
        network,
        "--name",
        uniqueName(`b${round}`),
        image.reference,
      ];
      return await milliseconds(() => succeed("docker", args));
    };
    const result = await paired(
      rounds,
      async (round) => {
        const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
        const app = { name: uniqueName(`a${round}`), image: image.reference, ports };
        return await milliseconds(() => deployed(system.target, app));
      },
      byHand,
    );
    const alone = await paired(
      rounds,
      async (round) => {
        const hostPort = await freeHostPort();
        const run = { name: uniqueName(`c${round}`), image: image.reference, hostPort, targetPort: WEB_PORT, network };
        return await milliseconds(() => runByEngine(socket, run));
      },
      byHand,
    );
    return {
      data: { ...result, alone },
      rows: [
        {
          what: "deploy, image present, median",
          value: inMilliseconds(median(result.ours)),
          reference: `docker run -d -p --network: ${inMilliseconds(median(result.reference))}`,
          ratio: result.ratio,
          target: atMost(1, "x", result.ratio),
        },
        {
          what: "the engine's API alone: create and start",
          value: inMilliseconds(median(alone.ours)),
          reference: `docker run -d -p --network: ${inMilliseconds(median(alone.reference))}`,
          ratio: alone.ratio,
        },
      ],
    };
  },
};
