import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type RunningProgram, startProgram } from "./program.ts";

const EXECUTABLE = "dist/edge-agent";

/** Settings for the agent's configuration file. */
export interface AgentSettings {
  readonly controlPlaneUrl: string;
  readonly deviceToken: string;
  readonly config?: Readonly<Record<string, unknown>>;
  /** A command prefix, for example to run the agent in another network namespace. */
  readonly wrapperCommand?: readonly string[];
  /** Default: the one in `dist/`. */
  readonly executable?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Starts an agent with state, configuration and log in `folder`. Does not wait: see `waitUntilOnline`. */
export async function startAgent(folder: string, settings: AgentSettings): Promise<RunningProgram> {
  const configFile = await writeConfig(folder, settings);
  const { wrapperCommand = [], executable = EXECUTABLE } = settings;
  // As systemd does.
  const environment = { STATE_DIRECTORY: stateDirectory(folder), ...settings.environment };
  const [program, ...args] = [...wrapperCommand, executable, "run", "--config", configFile] as const;
  return startProgram(program, args, { log: join(folder, "edge-agent.log"), environment });
}

/** Waits until the agent is connected to its control plane. Returns the milliseconds since its start. */
export async function waitUntilOnline(agent: RunningProgram): Promise<number> {
  await agent.waitForMessage("online");
  return performance.now() - agent.startedAt;
}

/** Returns the state directory of the agent that `startAgent` starts in `folder`. */
export function stateDirectory(folder: string): string {
  return join(folder, "agent");
}

async function writeConfig(folder: string, settings: AgentSettings): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "agent.json");
  const config = {
    ...settings.config,
    control_plane_url: settings.controlPlaneUrl,
    device_token: settings.deviceToken,
    state_dir: stateDirectory(folder),
  };
  await writeFile(path, JSON.stringify(config, null, 2), { mode: 0o600 });
  return path;
}
