import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { AppRecord } from "../core/records.ts";
import type { CheckResult } from "../core/doctor/checks.ts";
import type { ConfigError } from "../config/config-error.ts";
import { DEFAULT_TOKEN_FILE } from "../core/host/default-paths.ts";
import { type Config, parseConfig } from "../config/load.ts";
import type { ConfigFile } from "../config/schema.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { LearnedStore, StoreReader } from "../store/store.ts";
import type { RegistryPing } from "../registry/registry-ping.ts";

/** What the probes examine. */
export interface ProbeContext {
  /** The configuration with the files it names, or why it cannot be used. */
  readonly config: Config | ConfigError;
  /** The configuration file alone, or why it cannot be used. */
  readonly settings: ConfigFile | ConfigError;
  readonly configPath: string;
  /** Whether the probes run as the service's user, with its environment. */
  readonly isService: boolean;
  /** Proxies of the environment of the person who asks, which the service does not have; variables with values. */
  readonly callerProxy: string | undefined;
  readonly clock: Clock;
  readonly host: Host;
  readonly engine: Engine;
  /** Opens the store read-only and checks it. Rejects with `StoreError`. */
  readonly openStore: (
    stateDir: string,
  ) => Promise<Pick<StoreReader & LearnedStore, "apps" | "learnedValue"> & Disposable>;
  /** Creates a ping that checks registries with the device's credentials. */
  readonly createRegistryPing: (config: Config) => Promise<RegistryPing>;
  /** Whether the clock is synchronised; `null` if that is not known. */
  readonly readClock: () => Promise<{ readonly clock_synced: boolean | null }>;
  readonly agentVersion: string;
}

/** Makes one check. An error counts as broken. Must end when the signal aborts. */
export type Probe = (context: ProbeContext, signal: AbortSignal) => Promise<CheckResult>;

/** Returns the settings, or the defaults if the file cannot be used. */
export function settingsOf({ settings, configPath }: Pick<ProbeContext, "settings" | "configPath">): ConfigFile {
  return settings instanceof Error ? parseConfig(JSON.stringify(PLACEHOLDER), configPath) : settings;
}

/** The configuration as installed: the device is not enrolled. */
const PLACEHOLDER = { control_plane_url: "wss://control.example.com/v1/agent", device_token_file: DEFAULT_TOKEN_FILE };

export function isPlaceholder({ control_plane_url: address }: Pick<ConfigFile, "control_plane_url">): boolean {
  return URL.parse(address)?.host === "control.example.com";
}

/** Returns the configuration. Throws if it cannot be used; probes that need it are skipped then. */
export function configOf({ config }: ProbeContext): Config {
  if (config instanceof Error) throw config;
  return config;
}

/** Returns the installed apps; none if the agent has not run yet. Rejects with `StoreError`. */
export async function installedApps(context: ProbeContext): Promise<readonly AppRecord[]> {
  const { state_dir: stateDir } = settingsOf(context);
  if (!existsSync(join(stateDir, "agent.db"))) return [];
  using store = await context.openStore(stateDir);
  return store.apps();
}

export function good(text: string): CheckResult {
  return { verdict: "good", text };
}

export function warning(text: string, next: string): CheckResult {
  return { verdict: "warning", text, next };
}

export function bad(text: string, next: string): CheckResult {
  return { verdict: "bad", text, next };
}
