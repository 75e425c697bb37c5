import type { Clock } from "../../lib/clock.ts";
import type { Output } from "../../lib/terminal/output.ts";
import type { Config } from "../config/load.ts";
import type { ConfigFile } from "../config/schema.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { RegistryPing } from "../registry/registry-ping.ts";
import type { LearnedStore, StoreReader } from "../store/store.ts";

/** Everything a command accesses outside itself, so that tests can replace it. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at Ctrl-C. */
  readonly interrupted: AbortSignal;
  readonly device: DeviceAccess;
}

/** How commands reach the device, without the daemon. */
export interface DeviceAccess {
  readonly host: Host;
  /** Reads whether the clock is synchronised; `null` if that is not known. */
  readonly readClock: () => Promise<{ readonly clock_synced: boolean | null }>;
  readonly createEngine: (config: Pick<ConfigFile, "engine">) => Promise<Engine>;
  /** Creates a ping with the daemon's credentials, and the certificates the daemon and the engine trust. */
  readonly createRegistryPing: (config: Config, engine: Engine) => Promise<RegistryPing>;
  /** Opens the store read-only, for commands that work without the daemon. Rejects with `StoreError`. */
  readonly openReader: (stateDir: string) => Promise<StoreReader & Pick<LearnedStore, "learnedValue"> & Disposable>;
}
