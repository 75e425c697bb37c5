import type { Clock } from "../../lib/clock.ts";
import type { Verdict } from "../core/doctor.ts";
import type { ConfigError } from "../config/config-error.ts";
import type { Config } from "../config/load.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { Remembered } from "../local/device-status.ts";
import type { Knock } from "../registry/knock.ts";

/** What the probes look at. */
export interface Patient {
  /** The configuration with its token, or why it cannot be read. */
  readonly config: Config | ConfigError;
  readonly clock: Clock;
  readonly host: Host;
  readonly engine: Engine;
  /** Opens the store to be read, and checks it. Rejects with `StoreError`. */
  readonly openStore: (stateDir: string) => Promise<Pick<Remembered, "apps"> & Disposable>;
  /** Asks a registry whether it is there and takes the device's credentials. */
  readonly knock: (config: Config) => Promise<Knock>;
  readonly agentVersion: string;
}

/** Looks at one layer. What it throws counts as broken; it is given up when the signal aborts. */
export type Probe = (patient: Patient, signal: AbortSignal) => Promise<Verdict>;

/** The configuration; a probe that needs it is not asked without. */
export function configOf({ config }: Patient): Config {
  if (config instanceof Error) throw config;
  return config;
}

export function good(text: string): Verdict {
  return { verdict: "good", text };
}

export function warning(text: string, next: string): Verdict {
  return { verdict: "warning", text, next };
}

export function bad(text: string, next: string): Verdict {
  return { verdict: "bad", text, next };
}
