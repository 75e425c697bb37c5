import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { run } from "../command.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../private-engine.ts";

/** Where devices and their images are kept, so that those need not be made again the next time. */
const DATA_ROOTS = ".cache/devices";

/** Why no device can be started here; `undefined` where one can. */
export async function devicesUnavailableReason(): Promise<string | undefined> {
  const missing = await privateEngineUnavailableReason();
  if (missing !== undefined) return missing;
  const outcome = await run("mmdebstrap", ["--version"]).catch(() => undefined);
  return outcome?.code === 0 ? undefined : "mmdebstrap is not installed";
}

/** An engine that devices run in, each a container. */
export interface DeviceEngine extends AsyncDisposable {
  readonly socketPath: string;
  /** This machine's address as the devices see it. */
  readonly hostAddress: string;
}

/**
 * Starts one. Images stay when it is disposed of; what a run that was killed left behind is removed.
 *
 * @param name of its own for each test file: two engines cannot share what they keep
 */
export async function startDeviceEngine(name: string): Promise<DeviceEngine> {
  const dataRoot = resolve(DATA_ROOTS, name);
  await mkdir(dataRoot, { recursive: true });
  const engine = await PrivateEngine.start({ dataRoot });
  const docker = ["--host", `unix://${engine.socketPath}`];
  const left = (await run("docker", [...docker, "ps", "--all", "--quiet"])).stdout.split("\n").filter(Boolean);
  if (left.length > 0) await run("docker", [...docker, "rm", "--force", "--volumes", ...left]);
  const { socketPath, hostAddress } = engine;
  return {
    socketPath,
    hostAddress,
    async [Symbol.asyncDispose]() {
      // In order, so that it writes down what it has, and unmounts its data directory.
      await engine.stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}
