import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import { run } from "../command.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../private-engine.ts";

/** Cache of device images between runs. */
const DATA_ROOTS = ".cache/devices";

/** Returns why devices cannot be started here; `undefined` if they can. */
export async function devicesUnavailableReason(): Promise<string | undefined> {
  const missing = await privateEngineUnavailableReason();
  if (missing !== undefined) return missing;
  const outcome = await run("mmdebstrap", ["--version"]).catch(() => undefined);
  return outcome?.code === 0 ? undefined : "mmdebstrap is not installed";
}

/** An engine whose containers are the devices. */
export interface DeviceEngine extends AsyncDisposable {
  readonly socketPath: string;
  /** This machine's address in the devices' network. */
  readonly hostAddress: string;
}

/**
 * Starts the engine and removes leftovers of a killed run. Images stay when it is disposed.
 *
 * @param name unique for each test file: two engines cannot share a data root
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
      // Graceful, so that the engine stores its state and unmounts its data root.
      await engine.stop();
      await engine[Symbol.asyncDispose]();
    },
  };
}
