import type { Clock } from "../../lib/clock.ts";
import type { Output } from "../../lib/terminal/output.ts";
import type { Config } from "../config/load.ts";
import type { ConfigFile } from "../config/schema.ts";
import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { RegistryPing } from "../registry/registry-ping.ts";
import type { StoreReader } from "../store/store-reader.ts";

/** Everything a command touches outside itself, so that a test can hand it something else. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at Ctrl-C. */
  readonly interrupted: AbortSignal;
  readonly host: Host;
  readonly createEngine: (config: Pick<ConfigFile, "engine">) => Promise<Engine>;
  /** Asks registries as the daemon does, trusting what the engine trusts. */
  readonly createRegistryPing: (config: Config, engine: Engine) => Promise<RegistryPing>;
  /** What a daemon that does not run has left on disk, to be read only. Rejects with `StoreError`. */
  readonly openReader: (stateDir: string) => Promise<StoreReader & Disposable>;
}
