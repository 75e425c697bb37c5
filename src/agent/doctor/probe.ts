import type { Clock } from "../../lib/clock.ts";
import type { CheckResult } from "../core/doctor/checks.ts";
import type { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { StoreReader } from "../store/store-reader.ts";
import type { RegistryPing } from "../registry/registry-ping.ts";

/** What the probes look at. */
export interface ProbeContext {
  /** The configuration with its token, or why it cannot be read. */
  readonly config: Config | ConfigError;
  readonly clock: Clock;
  readonly host: Host;
  readonly engine: Engine;
  /** Opens the store to be read, and checks it. Rejects with `StoreError`. */
  readonly openStore: (stateDir: string) => Promise<Pick<StoreReader, "apps"> & Disposable>;
  /** Asks a registry whether it is there and takes the device's credentials. */
  readonly createRegistryPing: (config: Config) => Promise<RegistryPing>;
  readonly agentVersion: string;
}

/** Looks at one layer. What it throws counts as broken; it is given up when the signal aborts. */
export type Probe = (patient: ProbeContext, signal: AbortSignal) => Promise<CheckResult>;

/** The configuration; a probe that needs it is not asked without. */
export function configOf({ config }: ProbeContext): Config {
  if (config instanceof Error) throw config;
  return config;
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
