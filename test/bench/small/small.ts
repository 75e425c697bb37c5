import { join } from "node:path";
import { startAgent, waitUntilOnline } from "../../../scripts/system/agent.ts";
import { change } from "../../../scripts/system/client.ts";
import { freeHostPort } from "../../support/free-port.ts";
import { bigImage, loadImage, uniqueName, WEB_PORT, webImage } from "../../support/images.ts";
import { Registry } from "../../support/registry.ts";
import { median, milliseconds, type Paired, paired } from "../measure.ts";
import { proportionalBytes } from "../process-usage.ts";
import { type Bench, inMegabytes, inMilliseconds, type Row } from "../result.ts";
import { deployed } from "../system.ts";
import { execute, type SmallSystem, SMALL, startSmallSystem } from "./small-system.ts";

const MEGABYTES = 20;
const NODE = ["dist/node", "--eval", "0"];

/**
 * The agent's figures on a small device: a quarter of a processor and 256 MiB for the agent and its apps together. What it
 * is compared with runs under the same limits; the engine has none.
 */
export const small: Bench = {
  name: "small",
  isOnRequest: true,
  async run({ quick }) {
    const rounds = quick ? 2 : 15;
    await using device = await startSmallSystem();
    const { engine, group, system } = device;
    await using image = await loadImage(engine.socketPath, await webImage(), "bench");
    const bareNode = (): Promise<number> => milliseconds(() => execute(...group.wrapperCommand, ...NODE));
    await deployed(system.target, { name: uniqueName("idle"), image: image.reference });
    const config = join(system.folder, "device", "agent.json");
    const status = await paired(
      rounds,
      () => milliseconds(() => execute(...group.wrapperCommand, "dist/edge-agent", "status", "--config", config)),
      bareNode,
    );
    const present = await deploysPresent(device, image.reference, rounds);
    const pull = await deploysWithPull(device, quick ? 1 : 8);
    const memory = proportionalBytes(system.agent.pid);
    await system.agent[Symbol.asyncDispose]();
    const settings = {
      controlPlaneUrl: system.control.agentUrl,
      deviceToken: system.registration.deviceToken,
      config: { engine: { socket: engine.socketPath } },
      wrapperCommand: group.wrapperCommand,
    };
    const online = await paired(
      rounds,
      async () => {
        await using agent = await startAgent(join(system.folder, "device"), settings);
        return await waitUntilOnline(agent);
      },
      bareNode,
    );
    const killed = await group.killedForMemory();
    const peak = await group.peakBytes();
    if (killed > 0) throw new Error(`the kernel has killed ${killed} processes for lack of memory`);
    return {
      data: { limits: SMALL, present, pull, status, online, memory, peak },
      rows: [
        row("deploy, image present, median", present, "docker run -d -p"),
        row(`deploy with pull of ${MEGABYTES} MB, median`, pull, "docker pull + run"),
        row("exec to online, median", online, "node --eval 0"),
        row("edge-agent status, median", status, "node --eval 0"),
        { what: "small: agent right after these deployments: memory (PSS)", value: inMegabytes(memory) },
        { what: "small: agent and apps: most memory, with page cache", value: inMegabytes(peak) },
      ],
    };
  },
};

function row(what: string, { ours, reference, ratio }: Paired, name: string): Row {
  const value = inMilliseconds(median(ours));
  return { what: `small: ${what}`, value, reference: `${name}: ${inMilliseconds(median(reference))}`, ratio };
}

async function deploysPresent(device: SmallSystem, image: string, rounds: number): Promise<Paired> {
  const network = uniqueName("network");
  await execute(...device.docker, "network", "create", network);
  return await paired(
    rounds,
    () => timeToDeploy(device, image),
    () => timeToRun(device, image, ["--network", network]),
  );
}

async function deploysWithPull(device: SmallSystem, rounds: number): Promise<Paired> {
  await using registry = await Registry.start();
  const publishImage = async (name: string): Promise<string> => {
    return await registry.push(await bigImage(MEGABYTES), `${name}:1`);
  };
  return await paired(
    rounds,
    async (round) => await timeToDeploy(device, await publishImage(`ours-${round}`)),
    async (round) => {
      const image = await publishImage(`reference-${round}`);
      const pullMs = await milliseconds(() => execute(...device.docker, "pull", image));
      return pullMs + (await timeToRun(device, image, []));
    },
  );
}

/** Removes the app afterwards: what runs shares the memory with the next one. */
async function timeToDeploy({ system }: SmallSystem, image: string): Promise<number> {
  const name = uniqueName("ours");
  const ports = [{ host_port: await freeHostPort(), target_port: WEB_PORT }];
  const duration = await milliseconds(() => deployed(system.target, { name, image, ports }));
  for await (const _ of change(system.target, "DELETE", name));
  return duration;
}

async function timeToRun({ docker }: SmallSystem, image: string, options: readonly string[]): Promise<number> {
  const name = uniqueName("reference");
  const publish = `${await freeHostPort()}:${WEB_PORT}`;
  const duration = await milliseconds(() => {
    return execute(...docker, "run", "-d", "-p", publish, ...options, "--name", name, image);
  });
  await execute(...docker, "rm", "--force", name);
  return duration;
}
