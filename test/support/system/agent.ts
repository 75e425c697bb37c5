import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import type { configSchema } from "../../../src/agent/config/schema.ts";
import { Executable } from "./executable.ts";

const EXECUTABLE = "dist/edge-agent";

/** The agent's configuration file; every key is optional. */
export type AgentConfig = Partial<z.input<typeof configSchema>>;

interface AgentOptions {
  /** Directory for its configuration and state, created if missing. */
  readonly directory: string;
  readonly deviceToken: string;
  /** Called at each start, since the control plane's address may change. */
  readonly controlPlaneUrl: () => string;
  readonly engineSocket: string;
  readonly config: AgentConfig;
  /** A command that runs another one, such as one that drops capabilities first. */
  readonly wrapper?: readonly string[];
}

/** edge-agent as a real process; ready when online. */
export class AgentProcess extends Executable {
  readonly stateDir: string;
  readonly configFile: string;
  readonly #options: AgentOptions;
  #config: AgentConfig;

  constructor(options: AgentOptions) {
    const configFile = join(options.directory, "agent.json");
    const { wrapper: [wrapper, ...wrapping] = [] } = options;
    const before = wrapper === undefined ? [] : [...wrapping, EXECUTABLE];
    super({
      path: wrapper ?? EXECUTABLE,
      args: () => {
        this.#writeConfig();
        return [...before, "run", "--config", configFile];
      },
      env: { DOCKER_HOST: undefined },
      isReady: ({ msg }) => msg.startsWith("online"),
    });
    this.stateDir = join(options.directory, "agent");
    this.configFile = configFile;
    this.#options = options;
    this.#config = options.config;
    mkdirSync(options.directory, { recursive: true });
  }

  /** Restarts it gracefully, with another configuration if given. */
  async restart(config: AgentConfig = this.#config): Promise<void> {
    await this.stop();
    this.#config = config;
    await this.start();
  }

  #writeConfig(): void {
    const { deviceToken, engineSocket, controlPlaneUrl } = this.#options;
    const { link, deploy, ...config } = this.#config;
    const file: AgentConfig = {
      device_token: deviceToken,
      state_dir: this.stateDir,
      engine: { socket: engineSocket },
      log: { level: "debug" },
      ...config,
      control_plane_url: controlPlaneUrl(),
      // Short intervals make tests faster and do not change the order of events.
      link: { reconnect_max_s: 2, ...link },
      deploy: { settle_window_s: 0.5, ...deploy },
    };
    writeFileSync(this.configFile, JSON.stringify(file), { mode: 0o600 });
  }
}
