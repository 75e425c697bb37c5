import type { Clock } from "../../lib/clock.ts";
import type { CheckResult } from "../core/doctor/checks.ts";
import type { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { LearnedStore, StoreReader } from "../store/store.ts";
import type { RegistryPing } from "../registry/registry-ping.ts";

/** What the probes examine. */
export interface ProbeContext {
  /** The configuration with its token, or why it cannot be used. */
  readonly config: Config | ConfigError;
  readonly clock: Clock;
  readonly host: Host;
  readonly engine: Engine;
  /** Opens the store read-only and checks it. Rejects with `StoreError`. */
  readonly openStore: (
    stateDir: string,
  ) => Promise<Pick<StoreReader & LearnedStore, "apps" | "learnedValue"> & Disposable>;
  /** Creates a ping that checks registries with the device's credentials. */
  readonly createRegistryPing: (config: Config) => Promise<RegistryPing>;
  readonly agentVersion: string;
}

/** Makes one check. An error counts as broken. Must end when the signal aborts. */
export type Probe = (context: ProbeContext, signal: AbortSignal) => Promise<CheckResult>;

/** Returns the configuration. Throws if it cannot be used; probes that need it are skipped then. */
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
